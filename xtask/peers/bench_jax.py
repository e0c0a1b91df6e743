"""JAX: the averaging of bench_scipy.py, all iterations compiled into one loop."""

import jax
import jax.numpy as numpy

from timing import rate

NODES, WIDTH, HEARD, ITERATIONS = 1000, 64, 10, 500


def main():
    start = jax.random.normal(jax.random.key(0), (NODES, WIDTH))
    state = numpy.concatenate([start, numpy.ones_like(start)], axis=1)
    run = jax.jit(lambda state, key: jax.lax.scan(step, state, jax.random.split(key, ITERATIONS))[0])

    def work():
        end = run(state, jax.random.key(1)).block_until_ready()
        error = numpy.abs(end[:, :WIDTH] / end[:, WIDTH:] - start.mean(0)).max()
        assert error < 1e-5, error

    rate("jax_gather_sparse_push_sum_1000x64", "iterations/s", work, ITERATIONS)


def step(state, key):
    for_graph, for_mask = jax.random.split(key)
    heard = jax.random.randint(for_graph, (NODES, HEARD), 0, NODES)
    hearers = numpy.zeros(NODES, numpy.int32).at[heard.ravel()].add(1)
    share = 1.0 / (1.0 + hearers)
    words = jax.random.bits(for_mask, (NODES, WIDTH // 32), numpy.uint32)
    half = (words[:, :, None] >> numpy.arange(32, dtype=numpy.uint32)) & 1
    half = half.reshape(NODES, WIDTH).astype(bool)
    marked = numpy.concatenate([half, half], axis=1)
    sent = numpy.where(marked, state * share[:, None], 0)
    taken = sum(sent[heard[:, column]] for column in range(HEARD))
    return numpy.where(marked, sent, state) + taken, None


if __name__ == "__main__":
    main()
