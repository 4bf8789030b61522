"""The frozen tasks: the same questions for ever, and nothing hidden reaches an entry."""

import numpy as np
import pandas as pd
import pytest
from mpet_bench.checksums import QUESTIONS_SHA256
from mpet_bench.datasets import DATASETS, KEY, DatasetError, find_dataset, read_table
from mpet_bench.entries import BASELINES, load_entry, run_entry
from mpet_bench.jax_random import fold_in, make_key, permutation, split
from mpet_bench.tasks import TASKS, TaskError, get_task, hide_suites, questions_sha256

from tests.paths import ROOT

SHARED = ROOT.parent / "shared" / "data"
OWN_TASKS = [name for name in TASKS if not name.startswith("pitot")]
BASELINE_NAMES = sorted(path.stem.replace("_", "-") for path in BASELINES.glob("[a-z]*.py"))


def keys(table):
    return {*table[KEY].itertuples(index=False, name=None)}


@pytest.mark.parametrize("name", OWN_TASKS)
def test_known_and_asked_are_apart_and_two_draws_are_equal(dataset, name):
    table = read_table(dataset)
    folds, again = (TASKS[name].folds(table, is_frozen=False) for _ in range(2))
    for fold, other in zip(folds, again, strict=True):
        assert not keys(fold.known) & keys(fold.questions)
        assert "time_s" not in fold.questions
        assert keys(fold.known) | keys(fold.questions) <= keys(table)
        pd.testing.assert_frame_equal(fold.known, other.known)
        pd.testing.assert_frame_equal(fold.questions, other.questions)
        asked = fold.questions[KEY].merge(table, on=KEY)
        assert asked["time_s"].tolist() == fold.time_s.tolist()


def test_what_is_hidden_is_what_the_name_says(dataset):
    table = read_table(dataset)

    def folds(name):
        return TASKS[name].folds(table, is_frozen=False)

    def pairs(fold):
        """Each pair of platform and workload that is asked."""
        return fold.questions.drop_duplicates(KEY[:2]).itertuples()

    for fold in folds("unseen-instruction-set-v1"):
        for asked in pairs(fold):
            assert asked.architecture not in {*fold.known[fold.known["workload"] == asked.workload]["architecture"]}
    for fold in folds("references-3-v1"):
        for asked in pairs(fold):
            known_on = {*fold.known[fold.known["suite"] == asked.suite]["platform"]}
            assert len(known_on - {asked.platform}) == len(known_on) == 3
    for fold in folds("five-workloads-v1"):
        for platform in fold.questions["platform"].unique():
            assert fold.known[fold.known["platform"] == platform]["workload"].nunique() == 5
    for fold in folds("beyond-n-v1"):
        assert {*fold.questions["n"]} == {16}
        for asked in pairs(fold):
            of_workload = fold.known[fold.known["workload"] == asked.workload]
            assert of_workload["n"].max() == 4
            assert asked.platform not in {*of_workload["platform"]}
    for fold in folds("small-databases-v1"):
        assert fold.known["platform"].nunique() == 9
        assert fold.questions["workload"].nunique() == fold.questions["platform"].nunique() == 9


def test_other_questions_are_refused_under_the_name_of_a_frozen_task(dataset):
    with pytest.raises(TaskError, match="hidden-pair-v1: the questions have the SHA-256"):
        TASKS["hidden-pair-v1"].folds(read_table(dataset))


def test_a_data_set_that_is_too_small_is_refused(dataset):
    table = read_table(dataset)
    with pytest.raises(TaskError, match="too small"):
        TASKS["hidden-pair-v1"].folds(table[table["platform"] == "p01"].head(2), is_frozen=False)
    with pytest.raises(TaskError, match="unknown task 'no-task'; known: hidden-pair-v1"):
        get_task("no-task")


def test_the_checksum_sees_every_row_that_is_asked_or_known(dataset):
    table = read_table(dataset)
    masks = list(hide_suites(table, np.random.RandomState(0), references=2, draws=1, each=5))
    before = questions_sha256(table, masks)
    known, asked = masks[0]
    for mask in (known, asked):
        row = np.flatnonzero(mask)[3]
        mask[row] = False
        assert questions_sha256(table, masks) != before
        mask[row] = True
    assert questions_sha256(table, masks) == before


@pytest.mark.parametrize("entry", BASELINE_NAMES)
@pytest.mark.parametrize("name", ["hidden-pair-v1", pytest.param("beyond-n-v1", marks=pytest.mark.lab)])
def test_absurd_hidden_times_move_no_prediction(dataset, name, entry):
    """Every row that a fold does not know is made absurd, and all is learned and asked anew."""
    table = read_table(dataset)
    task = TASKS[name]
    _, made = load_entry(entry)
    fold = task.folds(table, is_frozen=False)[0]
    hidden = table.merge(fold.known[KEY], on=KEY, how="left", indicator=True)["_merge"].to_numpy() == "left_only"
    assert hidden.any()
    absurd = table.assign(time_s=np.where(hidden, 1e12, table["time_s"]))
    planted = task.folds(absurd, is_frozen=False)[0]
    assert (planted.time_s == 1e12).all()
    (before, _), (after, _) = (next(iter(run_entry(made, [each]))) for each in (fold, planted))
    np.testing.assert_array_equal(before.time_s, after.time_s)
    np.testing.assert_array_equal(before.interval_s, after.interval_s)
    assert np.isfinite(before.time_s).mean() > 0.9


def test_every_task_names_a_data_set_and_has_a_checksum():
    assert {*QUESTIONS_SHA256} == {*TASKS}
    for name, task in TASKS.items():
        assert name.endswith("-v1")
        assert task.dataset in DATASETS
        assert len(task.questions_sha256) == 64


def test_a_data_set_with_other_bytes_is_refused(tmp_path):
    dataset = DATASETS["sparecores-gb6"]
    with pytest.raises(DatasetError, match="was not found in"):
        find_dataset(dataset, tmp_path)
    (tmp_path / dataset.name).mkdir()
    for name in dataset.files:
        (tmp_path / dataset.name / name).write_bytes(b"others")
    with pytest.raises(DatasetError, match=r"platforms.csv has the SHA-256 .*; expected 0630"):
        find_dataset(dataset, tmp_path)


@pytest.mark.shared_data
@pytest.mark.parametrize("name", OWN_TASKS)
def test_the_questions_are_the_frozen_ones(name):
    if not SHARED.is_dir():
        pytest.skip("the data sets are not here")
    task = TASKS[name]
    folds = task.folds(read_table(find_dataset(DATASETS[task.dataset], SHARED)))  # compares the checksum
    assert sum(len(fold.questions) for fold in folds) > 200


class TestPitot:
    """The splits of Pitot: what JAX 0.5.0 drew for its scripts/split.py, seed 42."""

    @pytest.mark.parametrize(
        ("share", "replicate", "first"),
        [
            (0.1, 0, [44415, 15685, 3696, 20489, 39394]),
            (0.1, 1, [51873, 9348, 17441, 53534, 24733]),
            (0.9, 0, [21469, 4895, 48134, 16407, 47197]),
            (0.9, 1, [34813, 13073, 46132, 30250, 29266]),
        ],
    )
    def test_the_permutations_are_those_of_jax(self, share, replicate, first):
        key = fold_in(split(make_key(int(share * 1e6)), 5)[replicate], 42)
        order = permutation(split(key, 4)[0], 53637)
        assert order[:5].tolist() == first
        assert np.array_equal(np.sort(order), np.arange(53637))

    def test_a_split_of_a_key_is_that_of_jax(self):
        assert split(make_key(7), 3).tolist() == [
            [3625411723, 1954958720],
            [195045567, 4062205631],
            [966301609, 1948237315],
        ]
        assert permutation(make_key(0), 10).tolist() == [0, 1, 8, 5, 6, 4, 3, 2, 7, 9]

    def test_the_known_share_is_train_and_validation(self):
        table = pd.DataFrame({"platform": "p", "workload": np.arange(53637).astype(str), "n": 1, "time_s": 1.0})
        folds = TASKS["pitot-90-v1"].folds(table, is_frozen=False)
        assert [len(fold.known) for fold in folds] == [48272] * 5  # int(53637 * 0.72) + int(53637 * 0.18)
        assert [len(fold.questions) for fold in folds] == [1000] * 5

    def test_the_table_is_read_from_its_file(self, tmp_path):
        np.savez(
            tmp_path / "data.npz",
            t=np.array([2e9, 5e8], dtype=np.float32),
            i_platform=np.array([1, 0]),
            i_workload=np.array([0, 1]),
            n_platform=np.array(["wasm3-i:hc-10", "iwasm-a:hc-11"]),
            n_workload=np.array(["cortex/a", "poly/b"]),
            f_platform=np.array(["uarch=znver2", "uarch=haswell", "cpufreq", "runtime=wasm3-i", "runtime=iwasm-a"]),
            d_platform=np.array([[1.0, -1.0, 0.3, 1.0, -1.0], [-1.0, -1.0, 0.1, -1.0, 1.0]]),
        )
        table = read_table(tmp_path)
        assert table[["platform", "workload", "n", "time_s", "cpu_model", "runtime", "suite"]].values.tolist() == [
            ["iwasm-a:hc-11", "cortex/a", 1, 2.0, "hc-11", "iwasm-a", "cortex"],
            ["wasm3-i:hc-10", "poly/b", 1, 0.5, "hc-10", "wasm3-i", "poly"],
        ]
        assert table["microarchitecture"].fillna("").tolist() == ["", "znver2"]
