"""numpy: rounds of PrivSGP with all nodes in one array; noise by numpy and by mkl_random."""

import numpy

from bench_models_numpy import Mkl, Numpy, sigmoid, squares
from descent import (
    CLASSES, CLIP, FEATURES, HIDDEN, INPUTS, LOGISTIC, NETWORKS, SIGMA, SIZE, STEP, rounds
)

single = numpy.float32
W1 = INPUTS * HIDDEN
B1 = W1 + HIDDEN
W2 = B1 + HIDDEN * CLASSES


def main():
    sources = [("numpy", Numpy())]
    try:
        sources.append(("numpy_mkl", Mkl()))
    except ImportError:
        pass
    for peer, noise in sources:
        for name, nodes, records, count in NETWORKS:
            network(f"{peer}_{name}", noise, nodes, records, count)
        logistic(peer, noise)


def mixed(x, other, shift):
    """Half of each row and half of the one `shift` before it, into `other`."""
    numpy.add(x[shift:], x[:-shift], out=other[shift:])
    numpy.add(x[:shift], x[-shift:], out=other[:shift])
    other *= single(0.5)
    return other, x


def clipped(norms):
    return numpy.minimum(1, CLIP / (norms + 1e-12)).astype(single)[:, None]


def network(name, noise, nodes, records, count):
    draw = numpy.random.default_rng(1)
    x = draw.random((nodes, records, INPUTS), dtype=single)
    y = numpy.eye(CLASSES, dtype=single)[draw.integers(0, CLASSES, (nodes, records))]
    state = [
        (draw.standard_normal((nodes, SIZE)) * 0.05).astype(single),
        numpy.empty((nodes, SIZE), single),
        numpy.ones((nodes, 1), single),
        numpy.empty((nodes, 1), single),
    ]
    every = numpy.arange(nodes)

    def one(shift):
        points, spare, weights, light = state
        chosen = draw.integers(0, records, nodes)
        rows, targets = x[every, chosen], y[every, chosen]
        z = points / weights
        w2 = z[:, B1:W2].reshape(nodes, HIDDEN, CLASSES)
        h = rows[:, None] @ z[:, :W1].reshape(nodes, INPUTS, HIDDEN)
        h = sigmoid(h[:, 0] + z[:, W1:B1])
        scores = (h[:, None] @ w2)[:, 0] + z[:, W2:]
        e = numpy.exp(scores - scores.max(1, keepdims=True))
        d2 = e / e.sum(1, keepdims=True) - targets
        d1 = (w2 @ d2[:, :, None])[:, :, 0] * h * (1 - h)
        norms = (squares(rows) + 1) * squares(d1) + (squares(h) + 1) * squares(d2)
        scale = clipped(numpy.sqrt(norms))
        d1, d2 = d1 * scale, d2 * scale
        sums = noise.normal(nodes * SIZE).reshape(nodes, SIZE)
        sums *= single(SIGMA * CLIP)
        part = sums[:, :W1].reshape(nodes, INPUTS, HIDDEN)
        part += rows[:, :, None] * d1[:, None]
        sums[:, W1:B1] += d1
        part = sums[:, B1:W2].reshape(nodes, HIDDEN, CLASSES)
        part += h[:, :, None] * d2[:, None]
        sums[:, W2:] += d2
        sums *= single(STEP)
        points -= sums
        state[0], state[1] = mixed(points, spare, shift)
        state[2], state[3] = mixed(weights, light, shift)

    rounds(name, one, nodes, count)


def logistic(peer, noise):
    name, nodes, records, count = LOGISTIC
    draw = numpy.random.default_rng(1)
    x = draw.random((nodes, records, FEATURES), dtype=single)
    y = draw.choice([-1.0, 1.0], (nodes, records)).astype(single)
    state = [
        numpy.zeros((nodes, FEATURES), single),
        numpy.empty((nodes, FEATURES), single),
        numpy.ones((nodes, 1), single),
        numpy.empty((nodes, 1), single),
    ]
    every = numpy.arange(nodes)

    def one(shift):
        points, spare, weights, light = state
        chosen = draw.integers(0, records, nodes)
        rows, signs = x[every, chosen], y[every, chosen]
        margins = signs * numpy.einsum("ij,ij->i", points, rows) / weights[:, 0]
        c = -signs * sigmoid(-margins)
        c *= clipped(numpy.abs(c) * numpy.sqrt(squares(rows)))[:, 0]
        rows *= c[:, None]
        rows += single(SIGMA * CLIP) * noise.normal(rows.size).reshape(rows.shape)
        rows *= single(STEP)
        points -= rows
        state[0], state[1] = mixed(points, spare, shift)
        state[2], state[3] = mixed(weights, light, shift)

    rounds(f"{peer}_{name}", one, nodes, count)


if __name__ == "__main__":
    main()
