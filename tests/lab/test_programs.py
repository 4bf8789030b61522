"""The campaign on outside programs: its table, and inputs that are the same each time."""

import random
import re

import pytest
from django.utils.text import slugify

from lab.programs import campaign, inputs


def test_programs_of_openmp_are_tried_and_all_others_swept():
    assert {one.how for one in campaign.PROGRAMS if one.threads == "OpenMP"} == {"try"}
    assert {one.how for one in campaign.PROGRAMS if one.threads != "OpenMP"} == {"sweep"}
    assert len(campaign.PROGRAMS) >= 20
    languages = {one.language for one in campaign.PROGRAMS}
    assert languages >= {"C", "C++", "Fortran", "Rust", "Go", "Java", "Python"}
    assert all(re.fullmatch(r"(debian|pypi):[a-z0-9-]+", one.package) for one in campaign.PROGRAMS)


def region(name, times):
    return campaign.MeasuredRegion(name=name, times=times, parts={})


def test_the_time_of_a_program_is_the_sum_of_its_parts_where_all_were_measured():
    regions = [
        region("a/main:1", {1: [1.0, 3.0, 2.0], 2: [1.0]}),
        region("a/serial rest", {1: [0.5], 2: [0.5], 4: [0.5]}),
    ]
    assert campaign.times_of_whole(regions) == {1: 2.5, 2: 1.5}
    assert campaign.times_of_whole([]) == {}


def test_a_row_says_what_was_measured_or_why_not():
    program = campaign.Program("xtb", "Fortran", "OpenMP", "debian:xtb", "xtb drop.xyz")
    row = campaign.table_row(program, "xtb 6.5 (Debian)", campaign.Outcome("page", 12.4, "3", {1: 2.0, 2: 1.25}))
    assert row == "| xtb | Fortran | OpenMP | xtb 6.5 (Debian) | `mpet try` | 2 s | 1.25 s | 3 | 12 s | page |"
    refused = campaign.table_row(program, "xtb 6.5 (Debian)", campaign.Outcome("status 7: it crashed", 1.0))
    assert refused.endswith("|  |  |  | 1 s | status 7: it crashed |")
    assert row.count("|") == refused.count("|") == campaign.HEADER.splitlines()[0].count("|")


def test_predictions_are_compared_with_what_was_measured_elsewhere(tmp_path):
    path = tmp_path / "elsewhere.csv"
    path.write_text("program,n,repeat,time_s\n7-zip,1,1,1.0\n7-zip,1,2,3.0\n7-zip,1,3,2.0\n7-zip,16,1,0.5\n")
    elsewhere = campaign.measured_elsewhere(path)
    assert elsewhere == {"7-zip": {1: 2.0, 16: 0.5}}
    outcome = campaign.Outcome("page", 1.0, times={1: 1.0, 2: 0.75})  # half of it is serial
    outcome.predicted = {1: (1.6, 1.0, 2.5), 2: (1.0, 0.5, 2.0), 16: (1.0, 0.8, 1.2)}
    _, rule, row, mpet, amdahl, ideal, inside = campaign.compared({"7-Zip": outcome, "xtb": outcome}, elsewhere)
    assert rule.count("|") == 7
    assert row == "| 7-Zip | 1.6 (1 to 2.5), 2 | 1 (0.8 to 1.2), 0.5 * |"
    assert mpet == "| `mpet`: mean / median error | 20 / 20 % | 100 / 100 % |"
    assert amdahl == "| Amdahl's law: mean / median error | 20 / 20 % | 70 / 70 % |"
    assert ideal == "| ideal: mean / median error | 20 / 20 % | 80 / 80 % |"
    assert inside == "| inside | 1 of 1 | 0 of 1 |"
    outcome.times = {1: 1.0}  # measured with --n 1
    assert not any("7-Zip" in line for line in campaign.compared({"7-Zip": outcome}, elsewhere))


def test_what_was_measured_elsewhere_is_of_programs_of_the_table():
    elsewhere = campaign.measured_elsewhere()
    assert set(elsewhere) <= {slugify(program.name) for program in campaign.PROGRAMS}
    assert all(set(times) == set(campaign.COUNTS) for times in elsewhere.values())


@pytest.mark.lab
@pytest.mark.parametrize("write", [inputs.write_sources, inputs.write_pictures])
def test_inputs_are_the_same_each_time(tmp_path, write):
    for name in "ab":
        (tmp_path / name).mkdir()
        write(tmp_path / name, random.Random(20))
    assert inputs.checksum(tmp_path / "a") == inputs.checksum(tmp_path / "b") != 0


def test_sequences_descend_from_each_other_and_water_is_whole(tmp_path):
    inputs.write_family(tmp_path / "f.fasta", "ACGT", (5, 40), random.Random(1))
    lines = (tmp_path / "f.fasta").read_text().splitlines()
    assert lines[::2] == [f">s{number}" for number in range(5)]
    assert all(len(line) == 40 and set(line) <= set("ACGT") for line in lines[1::2])
    assert any(sum(a == b for a, b in zip(lines[1], other, strict=True)) > 20 for other in lines[3::2])
    inputs.write_water(tmp_path / "w.xyz", 2)
    count, _, *atoms = (tmp_path / "w.xyz").read_text().splitlines()
    assert int(count) == len(atoms) == 3 * 2**3
    assert sum(atom.startswith("O") for atom in atoms) == 8
