"""numpy: clipped sums by ghost norms, written by hand; noise by numpy and by mkl_random."""

import numpy

from clipping import BATCHES, CLIP, MLPS, SIGMA, STEP, steps

single = numpy.float32


class Numpy:
    def __init__(self):
        self.source = numpy.random.Generator(numpy.random.SFC64(2))

    def normal(self, count):
        return self.source.standard_normal(count, single)


class Mkl:
    """In pieces that stay in the cache until they are narrowed."""

    def __init__(self):
        import mkl_random

        self.source = mkl_random.MKLRandomState(1, brng="SFMT19937")

    def normal(self, count):
        out = numpy.empty(count, single)
        for start in range(0, count, 32768):
            end = min(count, start + 32768)
            out[start:end] = self.source.standard_normal(end - start, method="ICDF")
        return out


def main():
    sources = [("numpy", Numpy())]
    try:
        sources.append(("numpy_mkl", Mkl()))
    except ImportError:
        pass
    for peer, noise in sources:
        logistic(peer, noise)
        for name, inputs, hidden, batch in MLPS:
            mlp(f"{peer}_{name}", noise, inputs, hidden, batch)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def squares(x):
    return numpy.einsum("ij,ij->i", x, x)


def logistic(peer, noise):
    draw = numpy.random.default_rng(1)
    x = draw.standard_normal((BATCHES, 256, 105)).astype(single)
    y = draw.choice([-1.0, 1.0], (BATCHES, 256)).astype(single)
    w = numpy.zeros(105, single)

    def step(i):
        c = -y[i] * sigmoid(-y[i] * (x[i] @ w))
        c *= numpy.minimum(1, CLIP / (numpy.abs(c) * numpy.sqrt(squares(x[i])) + single(1e-12)))
        w[:] -= single(STEP / 256) * (c @ x[i] + single(SIGMA * CLIP) * noise.normal(105))

    steps(f"{peer}_logistic_105_b256", step, 256, 2000)


def mlp(name, noise, inputs, hidden, batch):
    draw = numpy.random.default_rng(1)
    x = draw.standard_normal((BATCHES, batch, inputs)).astype(single)
    y = numpy.eye(10, dtype=single)[draw.integers(0, 10, (BATCHES, batch))]
    w1 = (draw.standard_normal((inputs, hidden)) / inputs**0.5).astype(single)
    w2 = (draw.standard_normal((hidden, 10)) / hidden**0.5).astype(single)
    b1, b2 = numpy.zeros(hidden, single), numpy.zeros(10, single)
    parts = [w1, b1, w2, b2]
    rate = single(STEP / batch)

    def step(i):
        h = sigmoid(x[i] @ w1 + b1)
        scores = h @ w2 + b2
        e = numpy.exp(scores - scores.max(1, keepdims=True))
        d2 = e / e.sum(1, keepdims=True) - y[i]
        d1 = (d2 @ w2.T) * h * (1 - h)
        norms = (squares(x[i]) + 1) * squares(d1) + (squares(h) + 1) * squares(d2)
        factor = numpy.minimum(1, CLIP / numpy.sqrt(norms + single(1e-12)))[:, None]
        d1 *= factor
        d2 *= factor
        z = noise.normal(sum(part.size for part in parts))
        at = 0
        for part, (left, right) in zip(parts, [(x[i], d1), (None, d1), (h, d2), (None, d2)]):
            g = z[at : at + part.size].reshape(part.shape)
            at += part.size
            g += right.sum(0) if left is None else left.T @ right
            g *= rate
            part -= g

    steps(name, step, batch, 40000 // batch if inputs < 1000 else 600)


if __name__ == "__main__":
    main()
