import json
import sys

import pytest
from django.core.management import CommandError, call_command, execute_from_command_line

from predictor.models import Prediction
from profiles.models import Profile, Revision

ASKED = ("predict", "--workload", "app0/section0", "--target", "machine-1")


def test_prints_the_curve_with_what_was_measured(measured, capsys):
    call_command(*ASKED, "--n", "1,4,10")
    lines = capsys.readouterr().out.splitlines()
    (answer,) = Prediction.objects.values_list("answer", flat=True)
    head = next(index for index, line in enumerate(lines) if line.split()[:1] == ["n"])
    assert lines[head].split() == ["n", "time", "(s)", "speedup", "efficiency", "measured", "error", "%"]
    first = lines[head + 1].split()
    assert first[0] == "1"
    assert float(first[1]) == pytest.approx(answer["curve"][0]["time_s"], rel=1e-3)
    assert float(first[4]) == pytest.approx(answer["measured"]["t1_s"], rel=1e-3)
    assert len(lines[head + 3].split()) == 4  # nobody measured n = 10
    assert f"mean error over the measured n: {answer['measured']['error_percent']:.1f} %" in lines
    assert any(line.startswith("data: sample; CC0") for line in lines)


def test_prints_candidates_and_warnings(measured, capsys):
    call_command(*ASKED, "--reference", "machine-0", "--reference", "machine-1")
    text = capsys.readouterr().out
    (answer,) = Prediction.objects.values_list("answer", flat=True)
    assert answer["references"] == ["machine-0", "machine-1"]
    assert text.count("machine-0 ") >= len(answer["candidates"]["scaling"])
    assert "warning: reference machine-1 was not used: it is the target" in text
    Profile.objects.filter(platform__slug="machine-1", workload__slug="app0-section0").delete()
    Revision.raise_for(None)
    call_command(*ASKED)
    assert "mean error" in text and "mean error" not in capsys.readouterr().out  # nobody measured the pair


def test_json_is_the_stored_answer(measured, capsys):
    call_command(*ASKED, "--json", "--method-settings", '{"t1_workloads": 2}', "--method", "mpet2020")
    (stored,) = Prediction.objects.all()
    assert json.loads(capsys.readouterr().out) == {"id": str(stored.uid)} | stored.answer
    assert stored.answer["settings"]["t1_workloads"] == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--target", "machin-1"], "machine-1"),
        (["--workload", "nothing"], "no workload 'nothing'"),
        (["--method", "guess"], "mpet2020"),
        (["--n", "1,x"], "list of thread counts"),
        (["--n", "0"], "thread count"),
        (["--method-settings", "{"], "not JSON"),
        (["--method-settings", "[]"], "not a JSON object"),
        (["--method-settings", '{"colour": 1}'], "colour"),
        (["--reference", "nobody"], "no reference machine 'nobody'"),
        (["--change", "speed=2"], "cannot be changed"),
        (["--change", "work"], "NAME=NUMBER"),
        (["--change", "work=0"], "workload_changes.work"),
        (["--scenario", "parallelisation"], "strategy"),
        (["--scenario", "guess"], "invalid choice"),
        (["--ranking"], "not allowed with"),
        (["--where", "min_cores=3"], "--where: requires --ranking"),
        (["--by", "core_time"], "--by: requires --ranking"),
    ],
)
def test_refusals_say_why(measured, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        call_command(*ASKED, *arguments)


def test_a_refusal_is_an_exit_status(measured, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["manage.py"])
    # A second set-up would make a log handler for the standard error of this test, which is closed at its end.
    monkeypatch.setattr("django.setup", lambda: None)
    with pytest.raises(SystemExit) as caught:
        execute_from_command_line(["manage.py", "predict", "--workload", "nothing", "--target", "machine-1"])
    assert caught.value.code == 1
    assert "no workload 'nothing'" in capsys.readouterr().err


def test_scenarios_and_changes_reach_the_answer(measured, capsys):
    call_command(*ASKED, "--change", "lock_delay=0.5", "--change", "work=2", "--change", "n_nu=none", "--n", "1,16")
    (answer,) = Prediction.objects.values_list("answer", flat=True)
    assert answer["workload_changes"] == {"lock_delay": 0.5, "work": 2.0}
    assert answer["platform_changes"] == {"n_nu": None}
    text = capsys.readouterr().out
    assert text.count("changed: ") == 3
    head = next(line for line in text.splitlines() if line.split()[:1] == ["n"])
    assert head.split()[-1] == "unchanged"
    row = next(line for line in text.splitlines() if line.split()[:1] == ["16"])
    assert float(row.split()[-1]) == pytest.approx(answer["baseline"][-1]["time_s"], rel=1e-3)


def test_other_scenarios(measured, capsys):
    for scenario in (["sequential"], ["scaling"], ["parallelisation", "--strategy", "recursive"]):
        call_command(*ASKED, "--scenario", *scenario)
    assert "t(1) = not requested" in capsys.readouterr().out
    answers = Prediction.objects.order_by("pk").values_list("answer", flat=True)
    assert [answer["scenario"] for answer in answers] == ["sequential", "scaling", "parallelisation"]
    assert answers[2]["strategy"] == "recursive"


def test_a_ranking(measured, capsys):
    call_command("predict", "--workload", "app0/section0", "--ranking")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[4:]]
    assert [row[0] for row in rows] == ["machine-0", "machine-1", "machine-2", "machine-3"]
    assert all(float(row[3]) < float(row[2]) < float(row[4]) for row in rows)
    assert Prediction.objects.count() == 0
    call_command("predict", "--workload", "app0/section0", "--ranking", "--json")
    assert [result["platform"] for result in json.loads(capsys.readouterr().out)["results"]] == [row[0] for row in rows]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--ranking", "--reference", "machine-0"], "--reference: not allowed with --ranking"),
        (["--ranking", "--change", "work=2"], "--change: not allowed with --ranking"),
        (["--ranking", "--scenario", "scaling"], "--scenario: not allowed with --ranking"),
        (["--ranking", "--n", "1,2"], "one thread count"),
        (["--ranking", "--page", "0"], "--page 0: must be at least 1"),
        (["--ranking", "--where", "price=3"], "is not NAME=VALUE"),
        ([], "required"),
    ],
)
def test_rankings_have_options_of_their_own(measured, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("predict", "--workload", "app0/section0", *arguments)
