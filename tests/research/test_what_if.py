"""Hypothetical machines are compared with larger ones of the same CPU model."""

from types import SimpleNamespace

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from predictor.core.methods import get_method
from research.management.commands import evaluate_what_if as command
from research.what_if import evaluate_what_if, larger_relatives
from tests.predictor.core.curves import database_of_times

THREADS = {"a": 2, "b": 8, "c": 32, "d": 32}
CPU_MODELS = ("one", "one", "one", "two")


@pytest.fixture
def database():
    """Every program scales ideally, and d is half as fast. Without SMT."""
    times = {
        (platform, f"w{workload}"): {
            n: (2.0 if platform == "d" else 1.0) * (1 + workload) / n for n in (1, 2, 4, 8, 32) if n <= threads
        }
        for platform, threads in THREADS.items()
        for workload in range(8)
    }
    table = {"cpu_model": CPU_MODELS, "physical_cores": np.array([2.0, 8.0, 32.0, 32.0])}
    return database_of_times(times, THREADS, platform_table=table)


def test_pairs_have_one_cpu_model_and_twice_the_threads(database):
    assert larger_relatives(database).tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize("alone", [False, True])
def test_the_larger_machine_is_predicted(database, alone):
    results = list(evaluate_what_if(database, get_method("mpet"), sample=3, seed=1, alone=alone))
    assert sorted((result.platform, result.larger) for result in results) == [("a", "b"), ("a", "c"), ("b", "c")]
    for result in results:
        n = result.factor * THREADS[result.platform]
        np.testing.assert_allclose(n * result.measured_s, 1 + int(result.workload[1:]))
        np.testing.assert_allclose(result.time_s, result.measured_s, rtol=0.2)
        assert result.is_inside.all()


def test_the_command_prints_errors_by_the_ratio_of_threads(database, monkeypatch, capsys):
    monkeypatch.setattr(command, "database_subject", lambda *_: SimpleNamespace(database=database))
    call_command("evaluate_what_if", "--sample", "3")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["n", "/", "threads", "times", "mean", "median", "inside"]
    assert [line[:4] for line in lines[1:-1]] == [
        ["0", "to", "1", "8"],
        ["1", "to", "2", "2"],
        ["2", "to", "4", "3"],
        ["8", "to", "16", "1"],
    ]
    assert lines[-1] == ["3", "pairs", "of", "machines,", "0", "refused"]


def test_without_larger_machines_there_is_nothing_to_compare(database, monkeypatch):
    smaller = database.part(np.flatnonzero(database.platform_index == 3))
    monkeypatch.setattr(command, "database_subject", lambda *_: SimpleNamespace(database=smaller))
    with pytest.raises(CommandError, match="no machine has a larger one of the same CPU model"):
        call_command("evaluate_what_if")
