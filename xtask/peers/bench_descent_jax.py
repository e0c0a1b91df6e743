"""JAX: rounds of PrivSGP-VR with a table of factors instead of gradients, compiled and scanned."""

import jax
import jax.numpy as np
import numpy

from descent import CLASSES, CLIP, HIDDEN, INPUTS, SIGMA, STEP, TABLE, shifts
from timing import rate


def main():
    name, nodes, records, count = TABLE
    draw = numpy.random.default_rng(1)
    x = np.asarray(draw.random((nodes, records, INPUTS), dtype=numpy.float32))
    y = np.asarray(numpy.eye(CLASSES, dtype=numpy.float32)[draw.integers(0, 10, (nodes, records))])
    every, behind = np.arange(nodes), np.asarray(shifts(nodes))

    def factors(z, share, rows, targets):
        """At the point that is `share` of `z`, which is not written."""
        h = jax.nn.sigmoid((np.einsum("ni,nih->nh", rows, z["w1"]) + z["b1"]) * share)
        d2 = jax.nn.softmax((np.einsum("nh,nhc->nc", h, z["w2"]) + z["b2"]) * share) - targets
        d1 = np.einsum("nc,nhc->nh", d2, z["w2"]) * share * h * (1 - h)
        squared = (np.sum(rows**2, 1) + 1) * np.sum(d1**2, 1)
        squared += (np.sum(h**2, 1) + 1) * np.sum(d2**2, 1)
        scale = np.minimum(1, CLIP * jax.lax.rsqrt(squared + 1e-12))[:, None]
        return h, d1 * scale, d2 * scale

    def gradient(rows, h, d1, d2):
        return {
            "w1": rows[:, :, None] * d1[:, None],
            "b1": d1,
            "w2": h[:, :, None] * d2[:, None],
            "b2": d2,
        }

    def one(state, k):
        points, weights, mean, table, key = state
        key, choice, noise = jax.random.split(key, 3)
        chosen = jax.random.randint(choice, (nodes,), 0, records)
        rows = x[every, chosen]
        source = (every - behind[k % len(behind)]) % nodes
        # The state before it is mixed is carried, so that its noise is not drawn twice.
        points = jax.tree.map(lambda p: 0.5 * (p + p[source]), points)
        weights = 0.5 * (weights + weights[source])
        new = factors(points, 1 / weights, rows, y[every, chosen])
        old = [part[every, chosen] for part in table]
        table = [part.at[every, chosen].set(to) for part, to in zip(table, new)]
        change = jax.tree.map(lambda a, b: a - b, gradient(rows, *new), gradient(rows, *old))
        keys = dict(zip(points, jax.random.split(noise, len(points))))
        points = {
            name: point
            - STEP
            * (change[name] + mean[name] + SIGMA * CLIP * jax.random.normal(keys[name], point.shape))
            for name, point in points.items()
        }
        mean = jax.tree.map(lambda m, c: m + c / records, mean, change)
        return (points, weights, mean, table, key), None

    points = {
        "w1": 0.05 * jax.random.normal(jax.random.PRNGKey(1), (nodes, INPUTS, HIDDEN)),
        "b1": np.zeros((nodes, HIDDEN)),
        "w2": 0.05 * jax.random.normal(jax.random.PRNGKey(2), (nodes, HIDDEN, CLASSES)),
        "b2": np.zeros((nodes, CLASSES)),
    }
    table = [np.zeros((nodes, records, size)) for size in (HIDDEN, HIDDEN, CLASSES)]
    zero = jax.tree.map(np.zeros_like, points)
    state = [(points, np.ones((nodes, 1)), zero, table, jax.random.PRNGKey(3))]
    scan = jax.jit(lambda s: jax.lax.scan(one, s, np.arange(count))[0], donate_argnums=0)

    def work():
        state[0] = jax.block_until_ready(scan(state[0]))

    rate(f"jax_factored_{name}", "rounds/s", work, count, runs=3)


if __name__ == "__main__":
    main()
