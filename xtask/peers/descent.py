"""Whole rounds of PrivSGP over a time-varying exponential graph, as the peers' scripts share them.

Every node takes one of its records, clips its gradient, adds noise, steps, and averages with the
node that is a power of two behind. All nodes are rows of one array.
"""

import math

from timing import rate

CLIP, SIGMA, STEP = 1.0, 1.0, 1e-3
INPUTS, HIDDEN, CLASSES, FEATURES = 784, 50, 10, 105
SIZE = INPUTS * HIDDEN + HIDDEN + HIDDEN * CLASSES + CLASSES

# Name of our line, nodes, records of a node, rounds of a run.
NETWORKS = [
    ("priv_sgp_16_mlp_784_50_10_b1", 16, 1200, 100),
    ("priv_sgp_100_mlp_784_50_10_b1", 100, 600, 20),
]
LOGISTIC = ("priv_sgp_1000_logistic_105_b1", 1000, 32, 300)
TABLE = ("priv_sgp_vr_50_mlp_784_50_10_b1_j1200", 50, 1200, 20)


def shifts(nodes):
    return [1 << k for k in range(math.ceil(math.log2(nodes)))]


def rounds(name, one, nodes, count):
    """Runs `one(shift)` over and over."""
    turns, state = shifts(nodes), [0]

    def work():
        for _ in range(count):
            one(turns[state[0] % len(turns)])
            state[0] += 1

    rate(name, "rounds/s", work, count, runs=5)
