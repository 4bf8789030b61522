"""Every platform has one speed and every workload one size at each n: geometric means of the known times."""

from mpet_bench.curves import LogMatrix, conformal_interval


class Entry:
    def fit(self, table):
        self.table = table

    def predict(self, questions):
        matrix = LogMatrix(self.table, questions)
        return matrix.times(matrix.effects())

    def predict_interval(self, questions, level):
        return conformal_interval(self, self.table, questions, level)
