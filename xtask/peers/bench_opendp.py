"""OpenDP: its exact integer Gaussian on vectors of 20,000."""

import opendp.prelude as dp

from timing import samples

COUNT = 20_000


def main():
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    zeros = [0] * COUNT
    for sigma in [1, 10, 1000]:
        mechanism = dp.m.make_gaussian(*space, scale=float(sigma))
        samples(f"opendp_gaussian_sigma{sigma}", lambda: mechanism(zeros), COUNT, runs=5)


if __name__ == "__main__":
    main()
