"""Geometric means of the known times: at each n, every platform has one speed and every workload one size."""

from mpet_bench.curves import LogMatrix, conformal_interval


class Entry:
    def fit(self, table):
        self.table = table

    def predict(self, questions):
        matrix = LogMatrix(self.table, questions)
        return matrix.times(matrix.effects())

    def predict_interval(self, questions, level):
        return conformal_interval(self, self.table, questions, level)
