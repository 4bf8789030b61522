"""Soft-Impute (Mazumder, Hastie, Tibshirani 2010): singular value decompositions with reduced singular values.

This is an example of an entry that is not a baseline: mpet-bench run --entry examples/soft_impute.py --task ...
"""

import numpy as np
from mpet_bench.curves import LogMatrix, conformal_interval

SHRINKAGE, ROUNDS = 0.05, 50


class Entry:
    def fit(self, table):
        self.table = table

    def predict(self, questions):
        matrix = LogMatrix(self.table, questions)
        effects, known = matrix.effects(), ~np.isnan(matrix.values)
        measured = np.where(known, matrix.values - effects, 0.0)
        completed = measured
        for _ in range(ROUNDS):
            left, sizes, right = np.linalg.svd(np.where(known, measured, completed), full_matrices=False)
            completed = (left * np.maximum(sizes - SHRINKAGE * sizes[0], 0.0)) @ right
        return matrix.times(effects + completed)

    def predict_interval(self, questions, level):
        return conformal_interval(self, self.table, questions, level)
