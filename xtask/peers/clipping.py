"""The work of the models' peers: one private step, that is the gradients of a batch, each clipped to
a norm of 1, their sum, Gaussian noise of deviation 1, and a step of 0.001 over the batch size.
Sixteen batches of random numbers take turns, so that nobody reads the same records twice in a row.
"""

from timing import rate

BATCHES, CLIP, SIGMA, STEP = 16, 1.0, 1.0, 1e-3
MLPS = [("mlp_784_50_10_b20", 784, 50, 20), ("mlp_784_50_10_b256", 784, 50, 256),
        ("mlp_3072_40_10_b20", 3072, 40, 20)]


def steps(name, step, batch, count, runs=9):
    """Records a second of `step(i)`, `count` steps a run."""

    def work():
        for i in range(count):
            step(i % BATCHES)

    rate(name, "samples/s", work, batch * count, runs)
