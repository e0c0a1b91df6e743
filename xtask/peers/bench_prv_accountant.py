"""prv_accountant: epsilon of the Poisson-subsampled Gaussian to an error of 0.01."""

import warnings

from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

from timing import seconds

warnings.filterwarnings("ignore")


def main():
    for name, times in [("t1e3", 1000), ("t1e4", 10_000), ("t1e5", 100_000)]:
        seconds(f"prv_accountant_eps_{name}", lambda: upper(times), runs=3, note="error 0.01")


def upper(times):
    prv = PoissonSubsampledGaussianMechanism(noise_multiplier=1.0, sampling_probability=0.01)
    accountant = PRVAccountant(
        prvs=[prv], max_self_compositions=[times], eps_error=0.01, delta_error=1e-10
    )
    return accountant.compute_epsilon(delta=1e-5, num_self_compositions=[times])[2]


if __name__ == "__main__":
    main()
