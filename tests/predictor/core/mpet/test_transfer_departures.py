"""What other machines' workloads say of an interval where T has few."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.methods import METHODS
from predictor.core.mpet.gathering import gather_evidence
from predictor.core.mpet.transfer import stranger_variance, usual_departure
from tests.predictor.core.curves import curve_arrays
from tests.predictor.core.mpet.test_beyond import database_of_times

MPET = METHODS["mpet"]
MACHINES, PROGRAMS = 12, 20


def machines(sigma, known_on_target, rng):
    """Times of the programs on machines of random speed, from which each departs by `sigma`; the first machine has only
    so many of them, and the program that is asked for is known on the last one alone."""
    curves = {}
    work = rng.normal(size=PROGRAMS)
    for p in range(MACHINES):
        speed = rng.normal()
        for b in range(PROGRAMS):
            seconds = np.exp(work[b] + speed + sigma * rng.normal())
            if (p > 0 or b <= known_on_target) and (b > 0 or p in (0, MACHINES - 1)):
                curves[f"machine-{p:02}", f"program-{b:02}"] = {1: seconds}
    return database_of_times(curves, {f"machine-{p:02}": 1 for p in range(MACHINES)})


@pytest.mark.lab
@pytest.mark.parametrize(("sigma", "known"), [(0.4, 1), (0.05, 1), (0.05, 2), (0.4, 2)])
def test_with_one_workload_or_two_on_the_target_intervals_hold(sigma, known):
    rng = np.random.default_rng(7)
    inside, widths = [], []
    for _ in range(150):
        database = machines(sigma, known, rng)
        answer = MPET.predict(database, Query(0, 0, n=(1,)), MPET.settings())
        measured = database.curve(int(database.rows_of_platform(0)[0]))[1][0]
        inside.append(answer.low_s[0] <= measured <= answer.high_s[0])
        widths.append(np.log(answer.high_s[0] / answer.low_s[0]))
    assert 0.8 <= np.mean(inside) <= 0.98
    assert np.median(widths) == pytest.approx(2 * 1.645 * np.sqrt(2 + 2 / known) * sigma, rel=0.4)


def test_where_no_two_machines_have_workloads_enough_a_usual_departure_is_assumed():
    curves = {(machine, program): {1: 1.0} for machine in ("p", "t") for program in ("a", "b")}
    database = database_of_times(curves, {"p": 1, "t": 1})
    evidence = gather_evidence(database, Query(0, 1))
    assert usual_departure(evidence, 0.9, by_application=False) == 0.6


def test_the_target_tells_nothing_of_usual_departures():
    database = machines(0.3, 5, np.random.default_rng(3))
    evidence = gather_evidence(database, Query(0, 0))
    hidden = replace(evidence, database=database.without(0, np.arange(1, 4)))
    usual, of_others = (usual_departure(each, 0.9, by_application=False) for each in (evidence, hidden))
    assert usual == of_others


def test_applications_and_references_make_a_stranger_less_strange():
    def variance(applications, platforms):
        arrays = curve_arrays(3, platforms, 12, missing=0.0) | {"workload_table": {"application": applications}}
        database = Database.build(**arrays)
        return stranger_variance(gather_evidence(database, Query(0, 1)))

    two = ["a"] + 6 * ["b"] + 5 * ["c"]
    assert variance(two, 3) > variance(two, 10) > 0
    assert variance(["a"] + 11 * ["b"], 3) > variance(two, 3)
    assert variance(["b", *two[1:]], 3) == 0
    assert variance([f"own-{b:02}" for b in range(12)], 3) == 0
