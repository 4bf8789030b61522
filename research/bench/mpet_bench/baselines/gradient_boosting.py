"""Gradient boosting on the residuals of the additive model, from n, the names, and the platform's numeric facts."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from mpet_bench.curves import LogMatrix, conformal_interval

TEXTS = ["microarchitecture", "architecture", "vendor", "suite"]


class Entry:
    def fit(self, table):
        self.table = table

    def predict(self, questions):
        both = pd.concat([self.table, questions], ignore_index=True)
        matrix = LogMatrix(self.table, both)
        effects = matrix.times(matrix.effects())
        features = both.select_dtypes("number").drop(columns="time_s").assign(effects=np.log(effects))
        # Each text is replaced by the mean of ln t over the rows with the same text.
        for name in {"platform", "workload", *TEXTS} & {*both}:
            features[name] = both[name].fillna("").map(np.log(self.table["time_s"]).groupby(self.table[name]).mean())
        known = len(self.table)
        features = features.loc[:, features[:known].nunique() > 1]
        boosting = HistGradientBoostingRegressor(max_iter=500, learning_rate=0.1, random_state=0)
        boosting.fit(features[:known], np.log(self.table["time_s"] / effects[:known]))
        return effects[known:] * np.exp(boosting.predict(features[known:]))

    def predict_interval(self, questions, level):
        return conformal_interval(self, self.table, questions, level)
