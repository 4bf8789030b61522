"""Programs that are drawn at random: honest draws, and statistics that can be had by hand."""

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.methods import get_method
from predictor.core.programs import ProgramParts
from research.programs import (
    BOUNDS_ADDED,
    DrawnProgram,
    ProgramDraw,
    ProgramOutcome,
    draw_programs,
    errors_correlation,
    evaluate_program,
    program_statistics,
)
from tests.predictor.core.curves import COUNTS, curve_arrays, curve_database

MPET = get_method("mpet")


@pytest.fixture(scope="module")
def database():
    return curve_database(3, 6, 12, missing=0.0)


def test_draws_are_the_same_for_the_same_seed(database):
    draw = ProgramDraw((0, 2))
    first, again = (list(draw_programs(database, draw, 5, seed=4)) for _ in range(2))
    assert [one.parts for one in first] == [one.parts for one in again]
    assert {one.target for one in first} <= {0, 2}
    assert all(len(one.references) == 1 and one.target not in one.references for one in first)
    assert {one.parts.serial_rest is None for one in first} == {True, False}


def test_on_all_machines_but_the_target(database):
    for drawn in draw_programs(database, ProgramDraw((1,), one_machine=False), 3, seed=1):
        assert drawn.references == (0, 2, 3, 4, 5)


def test_the_rest_of_the_application_is_hidden(database):
    """Two sections make an application here: both are drawn, or one of them could not be a program."""
    applications = np.array(database.workload_table["application"])
    for drawn in draw_programs(database, ProgramDraw((0,), one_application=True), 4, seed=1):
        chosen = [*drawn.parts.all, *drawn.hidden_siblings]
        assert len(set(applications[chosen])) == 1
        assert len(chosen) == 2


def test_workloads_that_were_not_measured_with_one_thread_are_no_parts():
    """A region that begins at n > 1 takes no time on fewer threads; these workloads do."""
    arrays = curve_arrays(3, 6, 12, missing=0.0)
    late = np.repeat(np.asarray(arrays["workload_index"]) < 6, len(COUNTS))
    database = Database.build(**arrays | {"curve_n": np.where(late, 2, 1) * arrays["curve_n"]})
    drawn = list(draw_programs(database, ProgramDraw((0,)), 5, seed=1))
    assert drawn
    assert min(min(one.parts.all) for one in drawn) >= 6


def test_without_common_workloads_nothing_is_drawn():
    assert list(draw_programs(curve_database(1, 3, 4, missing=0.0), ProgramDraw((0,)), 2, seed=1)) == []


def test_measured_sums_do_not_move_the_prediction(database):
    """The program is hidden wherever it was not measured: another time there changes the deviation alone."""
    drawn = DrawnProgram(0, (1,), ProgramParts((2, 5), 8), np.array([1.0, 2.0, 3.0]))
    outcome = evaluate_program(database, drawn, MPET)
    assert outcome.deviation.shape == (len(COUNTS),)
    assert outcome.part_deviation.shape == (3, len(COUNTS))
    assert set(outcome.half_width) > {BOUNDS_ADDED, "correlation 0.5"}
    twice = curve_database(3, 6, 12, missing=0.0)
    times = twice.curve_time_s.copy()
    for workload in drawn.parts.all:
        row = int(twice.lookup(0, workload, 0))
        times[twice.curve_offsets[row] : twice.curve_offsets[row + 1]] *= 2
    object.__setattr__(twice, "curve_time_s", times)
    moved = evaluate_program(twice, drawn, MPET)
    assert moved.deviation - outcome.deviation == pytest.approx([np.log(2)] * len(COUNTS))
    assert moved.half_width["correlation 1"] == pytest.approx(outcome.half_width["correlation 1"])


def outcome_of(deviations, half=0.1):
    parts = np.array(deviations)[:, None]
    return ProgramOutcome(
        deviation=parts.mean(axis=0),
        half_width={"rule": np.array([half])},
        part_deviation=parts,
        part_half_width=np.full(parts.shape, half),
    )


def test_statistics_by_hand():
    outcomes = [outcome_of([0.05, 0.07]), outcome_of([0.3, 0.1])]
    statistics = program_statistics(outcomes, refused=1)
    assert (statistics.programs, statistics.refused) == (2, 1)
    assert statistics.rules["rule"].coverage == 50
    assert statistics.rules["rule"].factor == pytest.approx(np.exp(0.1))
    assert statistics.parts_coverage == 75
    assert statistics.error == pytest.approx(100 * np.mean(1 - np.exp([-0.06, -0.2])))


def test_correlation_of_errors():
    assert errors_correlation([outcome_of([0.1, 0.1]), outcome_of([-0.2, -0.2])]) == pytest.approx(1)
    assert errors_correlation([outcome_of([0.1, -0.1])]) == pytest.approx(-1)
    assert np.isnan(errors_correlation([outcome_of([0.1])]))
