"""dp_accounting: PLD epsilons, calibration, and 10,000 heterogeneous rounds by RDP."""

import sys
import warnings

import absl.logging
import dp_accounting
from dp_accounting import dp_event, pld, rdp

from rounds import rounds
from timing import seconds

warnings.filterwarnings("ignore")
# It warns of every fractional order that it leaves out, thousands of times.
absl.logging.set_verbosity(absl.logging.ERROR)
DELTA = 1e-5


def main():
    quick = "--quick" in sys.argv
    for name, times in [("t1e3", 1000), ("t1e4", 10_000), ("t1e5", 100_000)]:
        seconds(f"dp_accounting_pld_eps_{name}", lambda: pld_epsilon(0.01, 1.0, times))
    seconds("dp_accounting_calibrate_t1e4", calibrated)
    if quick:
        note = "200 of 10,000 rounds, time scaled by 50; no result"
        part = rounds()[:200]
        seconds(
            "dp_accounting_rdp_heterogeneous_10k",
            lambda: (rdp_epsilon(part), None)[1],
            runs=3,
            scale=50.0,
            note=note,
        )
    else:
        seconds(
            "dp_accounting_rdp_heterogeneous_10k",
            lambda: rdp_epsilon(rounds()),
            runs=1,
            note="one run",
        )


def subsampled(q, sigma, times):
    event = dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma))
    return dp_event.SelfComposedDpEvent(event, times)


def pld_epsilon(q, sigma, times):
    accountant = pld.PLDAccountant(value_discretization_interval=1e-4)
    return accountant.compose(subsampled(q, sigma, times)).get_epsilon(DELTA)


def calibrated():
    return dp_accounting.calibrate_dp_mechanism(
        pld.PLDAccountant,
        lambda sigma: subsampled(0.01, sigma, 10_000),
        1.0,
        DELTA,
        bracket_interval=dp_accounting.ExplicitBracketInterval(0.3, 20.0),
        tol=1e-3,
    )


def rdp_epsilon(pairs):
    accountant = rdp.RdpAccountant()
    for q, sigma in pairs:
        accountant.compose(dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma)))
    return accountant.get_epsilon(DELTA)


if __name__ == "__main__":
    main()
