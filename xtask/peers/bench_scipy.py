"""numpy and scipy: push-sum averaging with half of the coordinates sent over fresh random digraphs.

1,000 nodes hear 10 others each, drawn anew every iteration; everybody splits the marked coordinates
of its vector and of their weights evenly among its hearers and itself. Graphs and masks included.
"""

import numpy
import scipy.sparse

from timing import rate

NODES, WIDTH, HEARD, ITERATIONS = 1000, 64, 10, 500
START = numpy.random.default_rng(0).standard_normal((NODES, WIDTH), dtype=numpy.float32)


def main():
    random = numpy.random.Generator(numpy.random.SFC64(1))
    for name, mix in [("scipy_csr", csr), ("numpy_gather", gather)]:
        rate(f"{name}_sparse_push_sum_1000x64", "iterations/s", lambda: run(random, mix), ITERATIONS)


def run(random, mix):
    state = numpy.concatenate([START, numpy.ones_like(START)], axis=1)
    for _ in range(ITERATIONS):
        heard = random.integers(0, NODES, (NODES, HEARD), dtype=numpy.int32)
        hearers = numpy.bincount(heard.ravel(), minlength=NODES)
        share = (1.0 / (1.0 + hearers)).astype(numpy.float32)
        words = numpy.frombuffer(random.bytes(NODES * WIDTH // 8), numpy.uint8)
        half = numpy.unpackbits(words).reshape(NODES, WIDTH).view(bool)
        marked = numpy.concatenate([half, half], axis=1)
        sent = numpy.where(marked, state * share[:, None], 0)
        state = mix(numpy.where(marked, sent, state), sent, heard)
    error = numpy.abs(state[:, :WIDTH] / state[:, WIDTH:] - START.mean(0)).max()
    assert error < 1e-5, error


def csr(kept, sent, heard):
    starts = numpy.arange(0, NODES * HEARD + 1, HEARD, dtype=numpy.int32)
    ones = numpy.ones(NODES * HEARD, numpy.float32)
    matrix = scipy.sparse.csr_matrix((ones, heard.ravel(), starts), shape=(NODES, NODES))
    return kept + matrix @ sent


def gather(kept, sent, heard):
    for column in range(HEARD):
        kept += sent[heard[:, column]]
    return kept


if __name__ == "__main__":
    main()
