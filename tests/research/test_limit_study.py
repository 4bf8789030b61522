"""The tables of docs/accuracy/limits.md and limits-kit.md: a small part of them is measured again."""

import re

import pytest

from benchmarks.simulator.catalogue import find_hardware
from benchmarks.simulator.workloads import PROGRAMS
from profiles.scaling.boundness import boundness
from research.limit_study import (
    HALVES,
    KIT_KINDS,
    PAGES,
    REFERENCE,
    REPORTED_SEED,
    WITH_COUNTERS,
    kit_cases,
    kit_table,
    machine_table,
    page_with,
    random_programs,
    simulated_cases,
    simulated_profiles,
    studied_ranges,
)
from tests.paths import ROOT


def framed(name):
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    return text.split(f"<!-- table: {name} -->\n\n")[1].split("\n\n<!-- end")[0]


@pytest.mark.parametrize("name", ["i7-3667U", "A15 (Exynos 5422)"])
def test_a_machine_measured_again_gives_its_row(name):
    profiles = simulated_profiles([find_hardware(name)], PROGRAMS[HALVES[1]], REPORTED_SEED)
    cases = simulated_cases(profiles, REPORTED_SEED)[WITH_COUNTERS]
    assert machine_table(cases).splitlines()[-1] in framed("machines")


def test_the_kit_read_again_gives_its_table():
    cases = [case for path in sorted(REFERENCE.glob("*.tar.gz")) for case in kit_cases(path)]
    assert kit_table(cases) == framed("kit")
    assert set(KIT_KINDS) <= {case.workload for case in cases}


def test_where_something_is_said_nine_of_ten_are_right():
    """Of the rows of the page that describe what is measured or predicted of others."""
    rows = [line.split(" | ") for line in framed("thread counts").splitlines()[2:]]
    shares = [cell.strip(" |%") for row in rows for cell in row if "." in cell]
    assert len(shares) == 4 * len(rows)
    assert min(map(float, shares)) >= 90


def test_the_users_page_repeats_numbers_of_the_tables():
    shares = re.findall(r"(\d+\.\d) %", (ROOT / "docs/limits.md").read_text(encoding="utf-8"))
    assert len(shares) == 5
    tables = framed("evidence") + framed("thread counts") + framed("kit")
    assert not {share for share in shares if f" {share}% " not in tables}


COMPUTING = [program for program in PROGRAMS if program.name in {"mandelbrot/rows", "n-queens/search"}]


def test_programs_that_compute_are_not_called_memory_bound_where_smt_threads_share_cores():
    for profile in simulated_profiles([find_hardware("i9-9900K")], COMPUTING, seed=1):
        assert boundness(profile.curves, profile.facts).kind == "computation"


def test_random_programs_are_the_same_for_the_same_seed():
    assert random_programs(3, 5) == random_programs(3, 5)
    assert random_programs(3, 5) != random_programs(3, 6)


def test_the_counts_that_are_looked_at():
    assert studied_ranges(find_hardware("Xeon E5620")) == {1: "n = 1", 4: "n = n_nu", 8: "n = n_ht", 16: "n = n_max"}
    assert studied_ranges(find_hardware("i5-8500T")) == {1: "n = 1", 6: "n = n_max"}


def test_tables_are_written_into_their_frames():
    page = "<!-- table: kit -->\n\nold\n\n<!-- end of table -->\n"
    assert page_with(page, {"kit": "new"}) == page.replace("old", "new")
