"""The time on the most similar platform with the workload, scaled by the geometric mean of the speed ratios."""

import numpy as np

from mpet_bench.curves import LogMatrix, conformal_interval


class Entry:
    def fit(self, table):
        self.table = table

    def predict(self, questions):
        matrix = LogMatrix(self.table, questions)
        values, filled = matrix.values, matrix.effects()
        for target in np.unique(matrix.at[0]):
            # Log ratios of the target to each platform, at every column that both have.
            ratios = values[target] - values
            shared = np.maximum((~np.isnan(ratios)).sum(axis=1), 1)
            speed = np.nansum(ratios, axis=1) / shared
            distance = np.sqrt(np.nansum((ratios - speed[:, None]) ** 2, axis=1) / shared)
            distance[np.isnan(ratios).all(axis=1)] = np.inf
            for column in matrix.at[1][matrix.at[0] == target]:
                references = np.flatnonzero(~np.isnan(values[:, column]) & np.isfinite(distance))
                if len(references):
                    nearest = references[np.argmin(distance[references])]
                    filled[target, column] = values[nearest, column] + speed[nearest]
        return matrix.times(filled)

    def predict_interval(self, questions, level):
        return conformal_interval(self, self.table, questions, level)
