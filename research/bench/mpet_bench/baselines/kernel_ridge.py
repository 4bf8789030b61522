"""Kernel ridge regression for each workload, from a platform's residuals of the additive model on other workloads."""

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import pairwise_distances

from mpet_bench.curves import LogMatrix, conformal_interval


class Entry:
    def fit(self, table):
        self.table = table

    def predict(self, questions):
        matrix = LogMatrix(self.table, questions)
        filled, width = matrix.effects(), len(matrix.n)
        rest = matrix.values - filled
        squares = pairwise_distances(np.nan_to_num(rest)) ** 2
        kernel = np.exp(-squares / max(np.median(squares), 1e-12))
        for workload in np.unique(matrix.at[1] // width):
            # One column for each n.
            columns = slice(workload * width, (workload + 1) * width)
            known = ~np.isnan(rest[:, columns.start])
            if known.any():
                ridge = KernelRidge(alpha=0.1, kernel="precomputed")
                ridge.fit(kernel[np.ix_(known, known)], rest[known, columns])
                filled[~known, columns] += ridge.predict(kernel[np.ix_(~known, known)])
        return matrix.times(filled)

    def predict_interval(self, questions, level):
        return conformal_interval(self, self.table, questions, level)
