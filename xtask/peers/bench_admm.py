"""numpy and scipy: decentralised consensus ADMM with noise in the objective.

Five nodes that all hear each other, logistic regression with 105 features and 8,000 records a node,
50 rounds; every local minimum to a gradient of norm 1e-8, from where the last one was.
"""

import numpy
import scipy.linalg
import scipy.optimize

from timing import rate

NODES, WIDTH, RECORDS, ROUNDS = 5, 105, 8000, 50
RIDGE, PENALTY, NOISE, TOLERANCE = 1e-3, 0.01, 1e-3, 1e-8


def people(random, truth):
    rows = (random.random((RECORDS, WIDTH)) < 0.12).astype(float)
    rows[:, :6] = random.random((RECORDS, 6))
    rows /= numpy.maximum(1, numpy.linalg.norm(rows, axis=1, keepdims=True))
    signs = numpy.where(rows @ truth * 3 + random.standard_normal(RECORDS) < 0, -1.0, 1.0)
    return rows * signs[:, None]


RANDOM = numpy.random.default_rng(0)
TRUTH = RANDOM.standard_normal(WIDTH)
DATA = [people(RANDOM, TRUTH) for _ in range(NODES)]
TERMS = RANDOM.standard_normal((ROUNDS, NODES, WIDTH)) * NOISE


def main():
    for name, solver in [("numpy_chord", Chord), ("scipy_lbfgs", Lbfgs)]:
        check(solver)
        rate(f"{name}_admm_5_d105_m8000_t50", "runs/s", lambda: run(solver), 1, runs=3)


def run(solver, look=None):
    points, duals = numpy.zeros((NODES, WIDTH)), numpy.zeros((NODES, WIDTH))
    solvers = [solver(rows) for rows in DATA]
    others = NODES - 1
    quadratic = RIDGE + 2 * PENALTY * others
    for terms in TERMS:
        total = points.sum(0)
        linear = 2 * duals + terms - PENALTY * (others * points + total - points)
        points = numpy.array(
            [s.minimise(x, quadratic, l) for s, x, l in zip(solvers, points, linear)]
        )
        if look:
            look(solvers, points, quadratic, linear)
        duals += PENALTY / 2 * (NODES * points - points.sum(0))


def check(solver):
    def look(solvers, points, quadratic, linear):
        for s, x, l in zip(solvers, points, linear):
            norm = numpy.linalg.norm(s.gradient(x, quadratic, l)[0])
            assert norm <= TOLERANCE, norm

    run(solver, look)


class Chord:
    """Newton's method with a Cholesky factor that is kept while it contracts."""

    def __init__(self, rows):
        self.rows, self.factor = rows, None

    def gradient(self, x, quadratic, linear):
        margins = self.rows @ x
        decay = numpy.exp(-numpy.abs(margins))
        slopes = numpy.where(margins >= 0, decay, 1.0) / (1 + decay)
        return -(slopes @ self.rows) / RECORDS + quadratic * x + linear, slopes

    def hessian(self, slopes, quadratic):
        scaled = self.rows * numpy.sqrt(slopes * (1 - slopes))[:, None]
        hessian = scipy.linalg.blas.dsyrk(1 / RECORDS, scaled.T, lower=0)
        hessian[numpy.diag_indices(WIDTH)] += quadratic
        return hessian

    def minimise(self, x, quadratic, linear):
        before = None
        while True:
            gradient, slopes = self.gradient(x, quadratic, linear)
            norm = numpy.linalg.norm(gradient)
            if norm <= TOLERANCE:
                return x
            if self.factor is None or (before is not None and norm > 0.25 * before):
                hessian = self.hessian(slopes, quadratic)
                self.factor = scipy.linalg.cho_factor(hessian, lower=False, check_finite=False)
            x = x - scipy.linalg.cho_solve(self.factor, gradient, check_finite=False)
            before = norm


class Lbfgs(Chord):
    def minimise(self, x, quadratic, linear):
        def both(x):
            margins = self.rows @ x
            decay = numpy.exp(-numpy.abs(margins))
            slopes = numpy.where(margins >= 0, decay, 1.0) / (1 + decay)
            loss = numpy.mean(numpy.log1p(decay) + numpy.maximum(-margins, 0))
            gradient = -(slopes @ self.rows) / RECORDS + quadratic * x + linear
            return loss + 0.5 * quadratic * (x @ x) + linear @ x, gradient

        options = dict(gtol=TOLERANCE / 12, ftol=0, maxiter=2000, maxcor=20, maxfun=20000)
        return scipy.optimize.minimize(both, x, jac=True, method="L-BFGS-B", options=options).x


if __name__ == "__main__":
    main()
