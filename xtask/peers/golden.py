"""Makes the golden files of crates/privacy/tests/all/golden with dp_accounting.

    pip install dp-accounting==0.6.0
    python xtask/peers/golden.py crates/privacy/tests/all/golden

dp_accounting.json: epsilons over a grid. In every case epsilon belongs to `times` repeats at `delta`.

    poisson_gaussian     q, sigma         add/remove one; q = 1 is the plain Gaussian
    laplace              scale            add/remove one; scale = noise / L1 sensitivity
    fixed_size_gaussian  q, n, m, sigma   replace one; sigma = noise / replace sensitivity; RDP only

pld_upper is the pessimistic PLD (connect-the-dots), pld_lower the optimistic one (privacy buckets,
whose rounding drifts by up to one step a round: loose for many rounds), rdp the Renyi accountant on
`orders`. null: not made (too slow, not offered, or infinite).

dp_event.json: a list of {name, json}, json being DpEvent.to_named_tuple() as nested objects.
"""

import importlib.metadata
import json
import math
import sys
import time

from dp_accounting import dp_event, privacy_accountant
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

PINNED = "0.6.0"
DISCRETISATION = 1e-4
ORDERS = list(range(2, 65)) + [72, 80, 96, 128, 192, 256, 384, 512]
QS = [1.0, 0.001, 0.01, 0.02, 0.1, 0.5]
SIGMAS = [0.5, 0.8, 1.0, 2.0, 4.0, 12.4]
TIMES = [1, 10, 100, 1000, 10000]
DELTAS = [1e-3, 1e-5, 1e-8]
EPSILON_RANGE = (1e-4, 200.0)
REPLACE_ONE = privacy_accountant.NeighboringRelation.REPLACE_ONE


def main():
    version = importlib.metadata.version("dp-accounting")
    if version != PINNED:
        sys.exit(f"golden.py wants dp-accounting {PINNED}, found {version}")
    folder = sys.argv[1]
    with open(f"{folder}/dp_event.json", "w", encoding="utf-8") as out:
        rows = ",\n".join("  " + json.dumps(row) for row in dp_events())
        out.write(f"[\n{rows}\n]\n")
    cases = list(poisson_gaussian()) + list(laplace()) + list(fixed_size_gaussian())
    head = dict(
        tool="dp_accounting", version=version, discretisation=DISCRETISATION, orders=ORDERS
    )
    write_cases(f"{folder}/dp_accounting.json", head, cases)
    print(f"{len(cases)} cases", file=sys.stderr)


def poisson_gaussian():
    for q in QS:
        for sigma in SIGMAS:
            start = time.perf_counter()
            rdp_once = rdp(gaussian(q, sigma), 1)
            for times in TIMES:
                if not plausible(rdp_once, times):
                    continue
                upper = upper_gaussian(q, sigma, times)
                lower = lower_gaussian(q, sigma, times)
                accountant = rdp(gaussian(q, sigma), times)
                for delta in DELTAS:
                    case = dict(kind="poisson_gaussian", q=q, sigma=sigma)
                    yield from case_of(case, times, delta, upper, lower, accountant)
            print(f"q={q} sigma={sigma}: {time.perf_counter() - start:.1f} s", file=sys.stderr)


def laplace():
    for scale in [0.5, 1.0, 2.0, 5.0, 20.0]:
        for times in [1, 2, 10, 100]:
            upper = pld.from_laplace_mechanism(
                scale, value_discretization_interval=DISCRETISATION
            ).self_compose(times)
            accountant = rdp(dp_event.LaplaceDpEvent(scale), times)
            for delta in [1e-3, 1e-6]:
                case = dict(kind="laplace", scale=scale)
                yield from case_of(case, times, delta, upper, None, accountant)


def fixed_size_gaussian():
    for n, m in [(1000, 1), (1000, 10), (1000, 20), (1000, 100)]:
        for sigma in [1.0, 2.0, 6.2]:
            for times in [1, 100, 1000]:
                event = dp_event.SampledWithoutReplacementDpEvent(
                    n, m, dp_event.GaussianDpEvent(sigma)
                )
                accountant = rdp(event, times, REPLACE_ONE)
                case = dict(kind="fixed_size_gaussian", q=m / n, n=n, m=m, sigma=sigma)
                yield from case_of(case, times, 1e-5, None, None, accountant)


def case_of(case, times, delta, upper, lower, accountant):
    """The case, unless its epsilon is outside the range that is worth comparing."""
    values = dict(
        pld_upper=epsilon(upper, delta), pld_lower=epsilon(lower, delta), rdp=renyi(accountant, delta)
    )
    main_value = values["pld_upper"] if upper is not None else values["rdp"]
    if main_value is None or not EPSILON_RANGE[0] <= main_value <= EPSILON_RANGE[1]:
        return
    yield {**case, "times": times, "delta": delta, **values}


def gaussian(q, sigma):
    event = dp_event.GaussianDpEvent(sigma)
    return event if q == 1.0 else dp_event.PoissonSampledDpEvent(q, event)


def plausible(rdp_once, times):
    """Cheap refusal of cells far beyond the largest epsilon: their PLD takes minutes."""
    accountant = min(
        times * r + math.log((a - 1) / a) + (math.log(1e3) - math.log(a)) / (a - 1)
        for a, r in zip(ORDERS, rdp_once._rdp)
    )
    return accountant < 2 * EPSILON_RANGE[1]


def upper_gaussian(q, sigma, times):
    return pld.from_gaussian_mechanism(
        sigma, sampling_prob=q, value_discretization_interval=DISCRETISATION
    ).self_compose(times)


def lower_gaussian(q, sigma, times):
    """None where the drift of the rounding would leave nothing, or the untruncated FFT is long."""
    if times > 100:
        return None
    once = pld.from_gaussian_mechanism(
        sigma,
        sampling_prob=q,
        value_discretization_interval=DISCRETISATION,
        pessimistic_estimate=False,
        use_connect_dots=False,
    )
    if times * once._pmf_remove.size > 4e6:
        return None
    return once.self_compose(times, tail_mass_truncation=0)


def rdp(event, times, relation=None):
    accountant = RdpAccountant(ORDERS, relation) if relation else RdpAccountant(ORDERS)
    accountant.compose(event, times)
    return accountant


def epsilon(distribution, delta):
    return None if distribution is None else finite(distribution.get_epsilon_for_delta(delta))


def renyi(accountant, delta):
    return None if accountant is None else finite(accountant.get_epsilon(delta))


def finite(value):
    return float(value) if math.isfinite(value) else None


def dp_events():
    gauss = dp_event.GaussianDpEvent(1.1)
    poisson = dp_event.PoissonSampledDpEvent(0.01, gauss)
    events = dict(
        no_op=dp_event.NoOpDpEvent(),
        non_private=dp_event.NonPrivateDpEvent(),
        gaussian=gauss,
        laplace=dp_event.LaplaceDpEvent(2.5),
        zcdp=dp_event.ZCDpEvent(0.5, 0.25),
        composed=dp_event.ComposedDpEvent([gauss, dp_event.LaplaceDpEvent(2.5)]),
        self_composed=dp_event.SelfComposedDpEvent(gauss, 100),
        poisson_sampled=poisson,
        sampled_without_replacement=dp_event.SampledWithoutReplacementDpEvent(1000, 10, gauss),
        training_run=dp_event.ComposedDpEvent(
            [dp_event.SelfComposedDpEvent(poisson, 1000), gauss]
        ),
    )
    out = []
    for name, event in events.items():
        tree = event.to_named_tuple()
        if dp_event.DpEvent.from_named_tuple(tree) != event:
            sys.exit(f"{name} does not survive dp_accounting's own round trip")
        out.append(dict(name=name, json=as_json(tree)))
    return out


def as_json(value):
    if hasattr(value, "_asdict"):
        return {key: as_json(inner) for key, inner in value._asdict().items()}
    if isinstance(value, (list, tuple)):
        return [as_json(inner) for inner in value]
    return value


def write_cases(path, head, cases):
    """One case a line, so that a change of one golden number is one line of a diff."""
    body = ",\n".join("    " + json.dumps(case) for case in cases)
    with open(path, "w", encoding="utf-8") as out:
        out.write("{\n")
        for name, value in head.items():
            out.write(f"  {json.dumps(name)}: {json.dumps(value)},\n")
        out.write(f'  "cases": [\n{body}\n  ]\n}}\n')


if __name__ == "__main__":
    main()
