"""Entries and tables of predictions as people write them, the command, and what it says of mistakes."""

import json
import re
import subprocess
import sys
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from mpet_bench.cli import main
from mpet_bench.datasets import DATASETS, KEY, DatasetError, fetch_dataset
from mpet_bench.entries import BASELINES

from tests.paths import ROOT

BENCH = ROOT / "research" / "bench"
TASK = "hidden-pair-v1"
ENTRY = """
import numpy as np
class Entry:
    def fit(self, table):
        self.mean = float(np.exp(np.log(table["time_s"]).mean()))
    def predict(self, questions):
        return {predicted}
    def predict_interval(self, questions, level):
        return {interval}
"""
GOOD = {
    "predicted": "np.full(len(questions), self.mean)",
    "interval": "np.full((len(questions), 2), [self.mean / 2, self.mean * 2])",
}


@pytest.fixture
def run(tmp_path, dataset, capsys):
    """Runs an entry; returns its score, or the error."""

    def run_with(**parts):
        file = tmp_path / "mine.py"
        file.write_text(ENTRY.format(**GOOD | parts))
        out = tmp_path / "out.json"
        arguments = ["--entry", str(file), "--task", TASK, "--data", str(dataset), "--json", str(out)]
        if main(["run", *arguments]):
            return capsys.readouterr().err
        return json.loads(out.read_text())

    return run_with


def test_the_score_has_the_promised_fields(run, capsys):
    score = run()
    assert {*score} >= {"task", "entry", "mean", "median", "coverage", "interval_score", "seconds"}
    assert (score["task"], score["entry"], score["refused"], score["frozen"]) == (TASK, "mine", 0, False)
    assert score["median"] > 0
    assert 0 <= score["coverage"] <= 1
    assert "| **mine** |" in capsys.readouterr().out


def test_two_arrays_are_an_interval_too(run):
    both = run(interval="(np.full(len(questions), self.mean / 2), np.full(len(questions), self.mean * 2))")
    assert both["interval_score"] == run()["interval_score"]


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"predicted": "np.full(len(questions), -1.0)"}, r"fold 0, p\d\d, s\d/w\d\d, n = 1: the predicted time is -1;"),
        ({"predicted": "np.where(np.arange(len(questions)) == 4, np.inf, 1.0)"}, r"n = 4: the predicted time is inf"),
        ({"predicted": "np.ones(3)"}, r"predict returned an array of shape \(3,\); expected \(84,\)"),
        ({"predicted": "['soon'] * len(questions)"}, "predict did not return numbers"),
        ({"interval": "np.full((len(questions), 2), [2.0, 1.0])"}, r"n = 1: the interval is 2 to 1; expected 0 < low"),
        ({"interval": "np.full((len(questions), 2), np.nan)"}, "n = 1: the interval is nan to nan"),
        (
            {"interval": "np.ones(len(questions))"},
            r"predict_interval returned an array of shape \(84,\); expected \(84, 2\)",
        ),
    ],
)
def test_a_bad_answer_is_refused_with_its_question(run, parts, error):
    assert re.search(error, run(**parts))


@pytest.mark.parametrize(
    ("text", "error"),
    [("class Other: pass", "has no class Entry"), ("class Entry:\n def fit(self, t): pass", "no method predict")],
)
def test_a_file_without_an_entry_is_refused(tmp_path, dataset, capsys, text, error):
    (tmp_path / "bad.py").write_text(text)
    assert main(["run", "--entry", str(tmp_path / "bad.py"), "--task", TASK, "--data", str(dataset)]) == 1
    assert error in capsys.readouterr().err
    assert main(["run", "--entry", "nothing", "--task", TASK, "--data", str(dataset)]) == 1
    assert "baselines: geometric-mean, " in capsys.readouterr().err


class TestTable:
    @pytest.fixture
    def questions(self, tmp_path, dataset):
        main(["questions", "--task", "small-databases-v1", "--data", str(dataset), "--out", str(tmp_path / "asked")])
        return pd.read_csv(tmp_path / "asked" / "questions.csv")

    def score(self, tmp_path, dataset, table):
        table.to_csv(tmp_path / "mine.csv", index=False)
        arguments = ["--predictions", str(tmp_path / "mine.csv"), "--task", "small-databases-v1"]
        return main(["run", *arguments, "--data", str(dataset), "--json", str(tmp_path / "out.json")])

    def test_right_answers_in_any_order_have_no_error(self, tmp_path, dataset, questions):
        runs = pd.read_csv(dataset / "runs.csv").rename(columns={"platform_id": "platform"})
        times = runs.groupby(KEY)["time_s"].median().reset_index()
        table = questions.merge(times, on=KEY).assign(low_s=lambda t: t["time_s"] / 2, high_s=lambda t: t["time_s"] * 2)
        assert {"fold", *KEY} == {*questions}
        assert questions["fold"].nunique() == 30
        assert self.score(tmp_path, dataset, table.sample(frac=1, random_state=1)) == 0
        score = json.loads((tmp_path / "out.json").read_text())
        assert (score["mean"], score["coverage"], score["seconds"]) == (0.0, 1.0, None)
        assert score["interval_score"] == pytest.approx(np.log(4))

    def test_the_known_times_are_written_for_each_fold_and_hold_no_answer(self, tmp_path, questions):
        for fold, asked in questions.groupby("fold"):
            known = pd.read_csv(tmp_path / "asked" / f"known-{fold}.csv")
            assert {*KEY, "time_s"} <= {*known}
            assert known.merge(asked, on=KEY).empty

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            (lambda t: t.drop(columns="n"), "has no column n"),
            (lambda t: t.drop(index=5), r"mine.csv: fold 0, p\d\d, .*, n = \d+ is missing"),
            (lambda t: pd.concat([t, t.iloc[[3]]]), r"mine.csv, line \d+: duplicate row"),
            (lambda t: t.replace({"platform": {t["platform"][7]: "px"}}), r"line \d+: px, .* is no question"),
            (lambda t: t.assign(time_s=["soon", *t["time_s"][1:]]), "line 2: time_s is 'soon', not a number"),
            (lambda t: t.assign(time_s=t["time_s"].where(t.index != 9, 0.0)), "the predicted time is 0;"),
        ],
    )
    def test_a_bad_table_is_refused_with_its_row(self, dataset, questions, capsys, change, error):
        assert self.score(dataset.parent, dataset, change(questions.assign(time_s=1.0))) == 1
        assert re.search(error, capsys.readouterr().err)

    def test_an_empty_time_is_a_refusal(self, tmp_path, dataset, questions):
        table = questions.assign(time_s=1.0)
        table.loc[2, "time_s"] = np.nan
        assert self.score(tmp_path, dataset, table) == 0
        assert json.loads((tmp_path / "out.json").read_text())["refused"] == 1


def test_the_promised_command_runs_in_its_folder(tmp_path, dataset):
    command = [sys.executable, "-m", "mpet_bench", "run", "--entry", "examples/soft_impute.py", "--task", TASK]
    done = subprocess.run(
        [*command, "--json", tmp_path / "out.json", "--data", dataset],
        cwd=BENCH, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["entry"] == "soft-impute"


def test_the_entry_mpet_answers_at_another_level(dataset):
    from mpet_bench.baselines.mpet import Entry  # noqa: PLC0415
    from mpet_bench.datasets import read_table  # noqa: PLC0415

    table = read_table(dataset)
    noise = np.random.default_rng(2).normal(scale=0.1, size=len(table))  # without any, both are as narrow as can be
    table = table.assign(time_s=table["time_s"] * np.exp(noise))
    is_asked = (table["platform"] == "p03") & (table["workload"] == "s1/w05")
    entry, asked = Entry(), table[is_asked].drop(columns="time_s")
    entry.fit(table[~is_asked])
    wide, narrow = entry.predict_interval(asked, 0.9), entry.predict_interval(asked, 0.5)
    assert (np.diff(wide) > np.diff(narrow)).all()
    assert (entry.predict(asked) > 0).all()


def test_entries_are_short():
    for path in [*BASELINES.glob("[a-z]*.py"), BENCH / "examples" / "soft_impute.py"]:
        source = path.read_text().partition('"""')[2].partition('"""')[2]
        lines = [line for line in source.splitlines() if line.strip() and not line.startswith(("import", "from"))]
        assert len(lines) < 30, path


def test_what_has_no_single_address_is_not_downloaded(tmp_path):
    with pytest.raises(DatasetError, match=r"cannot be downloaded as one file\. Its source is Spare Cores team"):
        fetch_dataset(DATASETS["sparecores-gb6"], tmp_path)


def test_a_download_without_a_network_says_which_address_failed(tmp_path, monkeypatch):
    def unreachable(address, timeout):
        raise URLError("Network is unreachable")

    pitot = DATASETS["pitot"]
    monkeypatch.setattr("mpet_bench.datasets.urllib.request.urlopen", unreachable)
    with pytest.raises(DatasetError, match=r"data\.npz cannot be downloaded: <urlopen error Network is unreachable>$"):
        fetch_dataset(pitot, tmp_path)


def test_a_download_with_other_bytes_is_not_kept(tmp_path, monkeypatch):
    other = tmp_path / "other.npz"
    other.write_bytes(b"others")
    pitot = DATASETS["pitot"]
    monkeypatch.setattr("mpet_bench.datasets.urllib.request.urlopen", lambda address, timeout: other.open("rb"))
    with pytest.raises(DatasetError, match="has the SHA-256"):
        fetch_dataset(pitot, tmp_path)
    assert not (tmp_path / "pitot").exists()
