"""mkl_random: vectorised inverse CDF (f64 only: it offers no f32)."""

import mkl_random

from timing import samples

COUNT = 4_000_000


def main():
    state = mkl_random.MKLRandomState(1, brng="SFMT19937")
    work = lambda: state.standard_normal(COUNT, method="ICDF")
    samples("mkl_random_icdf_f64", work, COUNT)


if __name__ == "__main__":
    main()
