"""JAX: compiled private steps: by hand with ghost norms where that is easy, otherwise by vmap."""

import sys

import jax
import jax.numpy as numpy
from jax import lax

from clipping import BATCHES, CLIP, MLPS, SIGMA, STEP, steps
from timing import rate


def main():
    logistic()
    for name, inputs, hidden, batch in MLPS:
        mlp(name, inputs, hidden, batch)
    cnn()
    if "--quick" not in sys.argv:
        resnet()


def finish(parts, sums, key, batch):
    keys = jax.random.split(key, len(parts))
    noisy = [s + SIGMA * CLIP * jax.random.normal(k, s.shape) for s, k in zip(sums, keys)]
    return [p - STEP / batch * s for p, s in zip(parts, noisy)]


def scanned(name, step, parts, x, y, batch, count):
    """All steps of a run in one compiled loop: no calls in between."""

    @jax.jit
    def run(parts, key):
        def body(parts, i):
            return step(parts, x[i % BATCHES], y[i % BATCHES], jax.random.fold_in(key, i)), None

        return lax.scan(body, parts, numpy.arange(count))[0]

    state = {"parts": parts, "key": jax.random.key(0)}

    def work():
        state["key"] = jax.random.fold_in(state["key"], 1)
        state["parts"] = jax.block_until_ready(run(state["parts"], state["key"]))

    rate(name, "samples/s", work, batch * count)


def called(name, step, parts, x, y, batch, count, runs=5):
    """A compiled call a step."""
    one = jax.jit(step)
    state = {"parts": parts}
    key = jax.random.key(0)

    def work(i):
        state["parts"] = jax.block_until_ready(one(state["parts"], x[i], y[i], key))

    steps(name, work, batch, count, runs)


def draw(shape, scale=1.0, seed=0):
    return scale * jax.random.normal(jax.random.key(seed), shape)


def classes(batch):
    return jax.random.randint(jax.random.key(5), (BATCHES, batch), 0, 10)


def logistic():
    x = draw((BATCHES, 256, 105))
    y = numpy.sign(draw((BATCHES, 256), seed=1))

    def step(parts, x, y, key):
        c = -y * jax.nn.sigmoid(-y * (x @ parts[0]))
        norms = numpy.abs(c) * numpy.sqrt((x * x).sum(1))
        c = c * numpy.minimum(1.0, CLIP / (norms + 1e-12))
        return finish(parts, [c @ x], key, 256)

    scanned("jax_logistic_105_b256", step, [numpy.zeros(105)], x, y, 256, 2000)


def mlp(name, inputs, hidden, batch):
    parts = [draw((inputs, hidden), inputs**-0.5), numpy.zeros(hidden),
             draw((hidden, 10), hidden**-0.5), numpy.zeros(10)]

    def step(parts, x, y, key):
        w1, b1, w2, b2 = parts
        h = jax.nn.sigmoid(x @ w1 + b1)
        d2 = jax.nn.softmax(h @ w2 + b2) - jax.nn.one_hot(y, 10)
        d1 = (d2 @ w2.T) * h * (1 - h)
        square = lambda a: (a * a).sum(1)
        norms = (square(x) + 1) * square(d1) + (square(h) + 1) * square(d2)
        factor = numpy.minimum(1.0, CLIP * lax.rsqrt(norms + 1e-12))[:, None]
        d1, d2 = d1 * factor, d2 * factor
        return finish(parts, [x.T @ d1, d1.sum(0), h.T @ d2, d2.sum(0)], key, batch)

    x = draw((BATCHES, batch, inputs))
    scanned(f"jax_{name}", step, parts, x, classes(batch), batch, 50)


def by_vmap(loss):
    """Gradients of all records side by side in memory."""

    def step(parts, x, y, key):
        gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(parts, x, y)
        norms = sum((g.reshape(len(g), -1) ** 2).sum(1) for g in gradients)
        factor = numpy.minimum(1.0, CLIP * lax.rsqrt(norms + 1e-12))
        return finish(parts, [numpy.tensordot(factor, g, 1) for g in gradients], key, len(x))

    return step


def convolve(x, w, stride, padding):
    words = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=words)


def pool(x):
    return lax.reduce_window(x, -numpy.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")


def cross_entropy(scores, y):
    return jax.nn.logsumexp(scores) - scores[y]


def cnn():
    shapes = [((8, 8, 1, 16), 64), ((4, 4, 16, 32), 256), ((512, 32), 512), ((32, 10), 32)]
    weights = [draw(shape, fan**-0.5) for shape, fan in shapes]
    parts = weights + [numpy.zeros(shape[-1]) for shape, _ in shapes]

    def loss(parts, x, y):
        c1, c2, w1, w2, a1, a2, b1, b2 = parts
        x = pool(jax.nn.relu(convolve(x[None], c1, 2, [(3, 3), (3, 3)]) + a1))
        x = pool(jax.nn.relu(convolve(x, c2, 2, "VALID") + a2))
        x = jax.nn.relu(x.reshape(-1) @ w1 + b1)
        return cross_entropy(x @ w2 + b2, y)

    x = draw((BATCHES, 64, 28, 28, 1))
    called("jax_mnist_cnn_b64", by_vmap(loss), parts, x, classes(64), 64, 16)


def resnet():
    blocks, width = [], 64
    for k, channels in enumerate((64, 128, 256, 512)):
        for b in range(2):
            blocks.append((width, channels, 2 if b == 0 and k > 0 else 1))
            width = channels
    kernel = lambda size, a, b: draw((size, size, a, b), (size * size * a) ** -0.5)
    parts = [kernel(3, 3, 64), numpy.ones(64), numpy.zeros(64)]
    for a, b, _ in blocks:
        for size, a, b in [(3, a, b), (3, b, b)] + ([(1, a, b)] if a != b else []):
            parts += [kernel(size, a, b), numpy.ones(b), numpy.zeros(b)]
    parts += [draw((512, 10), 512**-0.5), numpy.zeros(10)]

    def unit(x, w, scale, shift, stride, around):
        x = convolve(x, w, stride, [(around, around)] * 2)
        grouped = x.reshape(1, -1, 32, x.shape[3] // 32)
        mean = grouped.mean((1, 3), keepdims=True)
        spread = grouped.var((1, 3), keepdims=True)
        return ((grouped - mean) * lax.rsqrt(spread + 1e-5)).reshape(x.shape) * scale + shift

    def loss(parts, x, y):
        left = iter(parts)
        take = lambda: (next(left), next(left), next(left))
        x = jax.nn.relu(unit(x[None], *take(), 1, 1))
        for a, b, stride in blocks:
            h = unit(jax.nn.relu(unit(x, *take(), stride, 1)), *take(), 1, 1)
            x = jax.nn.relu((unit(x, *take(), stride, 0) if a != b else x) + h)
        return cross_entropy(x.mean((0, 1, 2)) @ next(left) + next(left), y)

    x = draw((BATCHES, 8, 32, 32, 3))
    called("jax_resnet18_b8", by_vmap(loss), parts, x, classes(8), 8, 1, 3)


if __name__ == "__main__":
    main()
