"""Matrix completion: alternating least squares with 4 factors in log space, on the residuals of the additive model."""

import numpy as np

from mpet_bench.curves import LogMatrix, conformal_interval

RANK, PENALTY, ROUNDS = 4, 1.0, 15


class Entry:
    def fit(self, table):
        self.table = table

    def predict(self, questions):
        matrix = LogMatrix(self.table, questions)
        effects, known = matrix.effects(), ~np.isnan(matrix.values)
        rest = np.where(known, matrix.values - effects, 0.0)
        columns = np.random.RandomState(0).normal(size=(rest.shape[1], RANK)) / np.sqrt(RANK)
        for _ in range(ROUNDS):
            rows = self.least_squares(rest, known, columns)
            columns = self.least_squares(rest.T, known.T, rows)
        return matrix.times(effects + rows @ columns.T)

    def least_squares(self, rest, known, factors):
        gram = np.einsum("ij,jk,jl->ikl", known, factors, factors, optimize=True) + PENALTY * np.eye(RANK)
        return np.linalg.solve(gram, (rest @ factors)[:, :, None])[:, :, 0]

    def predict_interval(self, questions, level):
        return conformal_interval(self, self.table, questions, level)
