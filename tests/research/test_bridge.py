"""The study of the bridge: what is known of the target, and that the choice finds the workloads that tell."""

from dataclasses import replace

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from predictor.core.evaluate import Protocol, chosen_rows, hidden_pairs
from research.bridge import NOT_FIXED_WORK, Fleet, choose_bridge, measure_bridges, measure_programs, section_of
from research.two_steps import measure_programs_in_two_steps, measure_two_steps
from tests.predictor.core.databases import database_of, features

APPLICATIONS = {"stress-ng": ("a", "b", "cpu", "stream"), "compression": ("c", "d"), "geekbench": ("e", "f")}
MACHINES = 8


@pytest.fixture
def fleet():
    """stress-ng-a is as fast as a machine's programs are; all the rest of stress-ng is as fast as something else."""
    random = np.random.default_rng(5)
    rows = {}
    for machine in range(MACHINES):
        speed, other = np.exp(random.normal(size=2))
        for application, sections in APPLICATIONS.items():
            for place, section in enumerate(sections):
                told = speed if application != "stress-ng" or section == "a" else other
                rows[f"m{machine}", f"{application}-{section}"] = (told * (1 + place), features())
    made = database_of(rows)
    table = dict(made.workload_table) | {"application": tuple(name[: name.rindex("-")] for name in made.workloads)}
    kinds = dict(made.platform_table) | {"microarchitecture": tuple(f"kind {place}" for place in range(MACHINES))}
    return Fleet.of(replace(made, workload_table=table, platform_table=kinds))


def test_of_the_target_only_the_bridge_is_known(fleet):
    database = fleet.database
    bridge = (database.workloads.index("stress-ng-a"),)
    protocol = fleet.protocol("geekbench", bridge, sample=300, seed=7)
    rows = chosen_rows(database, protocol)
    assert {database.workloads[w] for w in database.workload_index[rows]} == {"geekbench-e", "geekbench-f"}
    for row in rows.tolist():
        view = database.without(*hidden_pairs(database, row, protocol))
        target = database.platform_index[row]
        assert view.workload_index[view.rows_of_platform(target)].tolist() == list(bridge)
        references = view.platform_index[view.rows_of_workload(database.workload_index[row])]
        assert len(references) == 1 and target not in references


def test_the_choice_finds_what_tells_and_leaves_out_what_is_no_fixed_work(fleet):
    candidates = fleet.candidates("stress-ng")
    assert [section_of(fleet.database, workload) for workload in candidates] == ["a", "b", "cpu"]
    assert "stream" in NOT_FIXED_WORK
    chosen = choose_bridge(fleet, candidates, ("geekbench", "compression"), 2, 300)
    assert section_of(fleet.database, chosen[0]) == "a"
    assert len(set(chosen)) == 2


def test_a_suite_that_is_in_the_bridge_is_not_hidden(fleet):
    sets = measure_bridges(fleet, sample=20, choice=20)["sets"]
    assert set(sets["all of stress-ng"]["hidden"]) == {"geekbench", "compression"}
    assert set(sets["compression"]["hidden"]) == set(sets["all"]["hidden"]) == {"geekbench"}
    best = sets["best 5 of stress-ng"]["hidden"]["geekbench"]["speed-ratio-per-n"]["full"]["mean"]
    assert best < sets["stress-ng cpu"]["hidden"]["geekbench"]["speed-ratio-per-n"]["full"]["mean"]


def test_machines_that_lack_a_suite_are_left_out(fleet):
    database = fleet.database
    lacking = (database.platform_index == 0) & np.isin(database.workload_index, fleet.suites["geekbench"])
    part = Fleet.of(database.part(np.flatnonzero(~lacking)))
    assert part.machines == MACHINES - 1
    with pytest.raises(ValueError, match="fewer than two machines"):
        Fleet.of(database.part(np.flatnonzero(database.platform_index == 0)))


def test_workloads_of_a_cut_are_not_named():
    with pytest.raises(ValueError, match="cannot be combined with a cut"):
        Protocol(cut=(3, 3), bridge=(0,))


@pytest.mark.django_db
def test_a_folder_without_the_suites_is_a_clear_error(tmp_path):
    with pytest.raises(CommandError, match=r"dataset\.json"):
        call_command("evaluate_bridge", dataset=tmp_path)


def test_programs_are_asked_of_the_machines_that_ran_both():
    """hash, which `make quick` runs, is as fast as the programs of a machine are; the third machine ran no program."""
    rows = {}
    for machine, (speed, other) in enumerate([(1.0, 1.0), (3.0, 0.5), (1.0, 1.0)]):
        rows[f"m{machine}", "stress-ng-hash"] = (speed, features())
        rows[f"m{machine}", "stress-ng-zlib"] = (other, features())
        if machine < 2:
            rows |= {(f"m{machine}", f"own-{name}"): (speed * 2, features()) for name in "ab"}
    made = database_of(rows)
    applications = tuple(name[: name.rindex("-")] for name in made.workloads)
    found = measure_programs(
        replace(made, workload_table=dict(made.workload_table) | {"application": applications}), 300
    )
    assert (found["machines"], found["pairs"]) == (2, 4)
    shipped, every = found["sets"]["those of make quick"], found["sets"]["all of stress-ng"]
    assert (shipped["workloads"], len(every["workloads"])) == (["stress-ng-hash"], 2)
    ratio = "speed-ratio-per-n"
    assert shipped["hidden"]["programs"][ratio]["full"]["mean"] == pytest.approx(0, abs=1e-9)
    assert every["hidden"]["programs"][ratio]["full"]["mean"] > 10
    alone = made.part(np.flatnonzero(made.platform_index == 0))
    with pytest.raises(ValueError, match="fewer than two machines"):
        measure_programs(alone, 300)


def test_of_the_home_of_a_program_nothing_is_known_that_a_target_ran(fleet):
    found = measure_two_steps(fleet, 6)
    assert set(found["sets"]) == {
        f"{case}, {count} with both"
        for case in ("second suite at home", "two steps", "two rounds")
        for count in (1, 2, 5)
    }
    for of_set in found["sets"].values():
        assert set(of_set["hidden"]) == {"geekbench", "compression", "stress-ng"}
        assert all(methods["mpet"]["full"]["refused"] == 0 for methods in of_set["hidden"].values())
    exact = found["sets"]["two steps, 2 with both"]["hidden"]["geekbench"]["mpet"]
    assert (
        exact["full"]["mean"] < found["sets"]["two steps, 2 with both"]["hidden"]["stress-ng"]["mpet"]["full"]["mean"]
    )


def test_programs_are_predicted_from_machines_without_stress_ng():
    """All programs and both stressors are as fast as the machine; two machines ran stress-ng, two others did not."""
    rows = {}
    for machine, speed in enumerate([1.0, 3.0, 2.0, 5.0]):
        rows |= {(f"m{machine}", f"own-{name}"): (speed * (1 + place), features()) for place, name in enumerate("abc")}
        if machine < 2:
            rows |= {(f"m{machine}", f"stress-ng-{name}"): (speed, features()) for name in "xy"}
    made = database_of(rows)
    applications = tuple(name[: name.rindex("-")] for name in made.workloads)
    table = dict(made.workload_table) | {"application": applications}
    found = measure_programs_in_two_steps(replace(made, workload_table=table))
    assert (found["machines"], found["pairs"]) == (4, 12)
    of_method = found["sets"]["two steps"]["hidden"]["programs"]["mpet"]
    assert of_method["full"]["refused"] == 0
    assert of_method["full"]["mean"] < 5
    with pytest.raises(ValueError, match="two machines must have stress-ng"):
        measure_programs_in_two_steps(made)
