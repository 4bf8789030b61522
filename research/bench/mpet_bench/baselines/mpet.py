"""The default method of MPET, from the distribution mpet-core."""

from mpet_bench.regressor import KNOWN_OF_PLATFORM, MpetRegressor

TRIPLE = ["platform", "workload", "n"]


class Entry:
    def fit(self, table):
        facts = table.drop_duplicates("platform").set_index("platform")
        facts = facts[sorted(KNOWN_OF_PLATFORM & {*facts.columns})]
        self.platforms = {name: row.dropna().to_dict() for name, row in facts.iterrows()}
        self.table, self.asked = table, None

    def answer(self, questions, level):
        if self.asked is None or self.asked[0] != level or not self.asked[1].equals(questions):
            model = MpetRegressor(settings={"level": level}, platforms=self.platforms)
            model.fit(self.table[TRIPLE], self.table["time_s"])
            self.asked = level, questions, model.predict_with_interval(questions[TRIPLE])
        return self.asked[2]

    def predict(self, questions):
        return self.answer(questions, 0.9)[:, 0]

    def predict_interval(self, questions, level):
        return self.answer(questions, level)[:, 1:]
