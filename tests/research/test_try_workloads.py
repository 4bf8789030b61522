"""The choice of what `mpet try` measures: what is known while a program is predicted, and that what tells is chosen."""

from dataclasses import replace

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.utils.text import slugify

from benchmarks.simulator.workloads import PROGRAMS
from predictor.core.methods import METHODS
from research.try_workloads import SIMULATED_PROGRAMS, TryStudy, choose_programs, compare_sets, random_sets
from tests.paths import KIT
from tests.predictor.core.databases import database_of, features

WORKLOADS = ("fft-rows", "hog-gradient", "hog-classify", "spmv-rows", "n-body-forces", "sort-merge")
MACHINES = 8


def study(planted: float = 1.0) -> TryStudy:
    """Programs are as fast as hog is, all but fft and spmv, which are as fast as something else. `planted`: by how
    much longer fft takes on m0."""
    random = np.random.default_rng(5)
    rows = {}
    for machine in range(MACHINES):
        speed, other = np.exp(random.normal(size=2))
        for place, name in enumerate(WORKLOADS):
            told = other if name in ("fft-rows", "spmv-rows") else speed
            slower = planted if (machine, name) == (0, "fft-rows") else 1.0
            rows[f"m{machine}", name] = (told * (1 + place) * slower, features())
    made = database_of(rows)
    table = dict(made.workload_table) | {"application": tuple(name.rpartition("-")[0] for name in made.workloads)}
    return TryStudy(replace(made, workload_table=table), METHODS["speed-ratio-per-n"])


def test_the_programs_are_the_kits_and_the_demos():
    registered = "".join(path.read_text() for path in (KIT / "workloads").glob("*.cpp"))
    slugs = [slugify(program.record().name.replace("/", "-")) for program in PROGRAMS]
    assert [name for name in SIMULATED_PROGRAMS if f'"{name}"' not in registered] == []
    for slug in slugs:
        assert len([name for name, beginning in SIMULATED_PROGRAMS.items() if slug.startswith(beginning)]) == 1, slug
    assert all(any(slug.startswith(beginning) for slug in slugs) for beginning in SIMULATED_PROGRAMS.values())


def test_a_program_is_never_predicted_from_itself():
    honest, planted = (study(factor).errors(["fft", "hog"], np.array([0, 1])) for factor in (1.0, 1000.0))
    assert planted[0] > honest[0] + 0.1, "fft is predicted from hog alone, and cannot know"


def test_the_choice_begins_with_what_tells_most_and_is_the_same_again():
    chosen = [choose_programs(study(), np.arange(5), 3) for _ in range(2)]
    assert chosen[0] == chosen[1]
    assert len(set(chosen[0])) == 3
    assert chosen[0][0] in ("hog", "nbody", "mergesort")
    assert list(random_sets(WORKLOADS, 3, 4, 1)) == list(random_sets(WORKLOADS, 3, 4, 1))


def test_other_machines_do_not_change_what_is_chosen():
    one, other = study(), study(planted=1000.0)
    assert choose_programs(one, np.arange(1, 6), 3) == choose_programs(other, np.arange(1, 6), 3)


def test_sets_are_reported_on_the_other_half():
    found = compare_sets(study(), size=2, count=3, seed=1)
    assert [half["chosen_on"] for half in found["halves"]] == ["one_half", "the_other_half"]
    for half in found["halves"]:
        assert list(half["sets"]) == ["chosen", "shipped", "random 2", "all"]
        assert half["sets"]["random 2"]["sets"] == 3
        assert half["sets"]["random 2"]["least"] <= half["sets"]["random 2"]["mean"] <= half["sets"]["random 2"]["most"]
        assert half["sets"]["shipped"]["beyond_shipped"] == 0


@pytest.mark.django_db
def test_without_the_demo_it_says_what_is_missing():
    with pytest.raises(CommandError):
        call_command("choose_try_workloads")
