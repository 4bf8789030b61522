"""The comparison of two builds of the kit, with scripts in the place of the kit's programs."""

import sys

import pytest

from lab import kit_builds

pytestmark = pytest.mark.lab
RUNS = r"run\tfft\t1\t{time}\t\t\t\t\t\t\t\t0\nrun\tfft/b\t1\t{time}\t\t\t\t\t\t\t\t0\n"


@pytest.fixture
def build(tmp_path):
    def made(name, time_ns=0, status=0):
        folder = tmp_path / name
        folder.mkdir()
        program = folder / "mpet-bench-clean"
        text = RUNS.format(time=time_ns)
        burns = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"
        program.write_text(f"#!/bin/sh\n{burns}\nprintf '%b' '{text}'\necho $* >> {folder}/calls\nexit {status}\n")
        program.chmod(0o755)
        return folder

    return made


def test_on_several_threads_the_time_is_the_programs_own(build):
    assert kit_builds.seconds_of(build("native", 1_500_000_000), "fft", "tiny", 2) == 3.0
    assert 0 < kit_builds.seconds_of(build("other", 10**15), "fft", "tiny", 1) < 60
    with pytest.raises(SystemExit, match="fft ended with status 3"):
        kit_builds.seconds_of(build("broken", status=3), "fft", "tiny", 1)


def test_both_builds_run_in_turn_and_the_table_has_medians(build, monkeypatch, capsys):
    native, static = build("native", 2_000_000_000), build("static", 3_000_000_000)
    words = ["--pairs", "2", "--workloads", "fft", "--n", "1", "2", "--scale", "tiny"]
    monkeypatch.setattr(sys, "argv", ["kit_builds", str(native), str(static), *words])
    kit_builds.main()
    assert "| fft | 2 | 1.500 | 1.500 to 1.500 | 1.500 | 2 |" in capsys.readouterr().out
    for folder in (native, static):
        calls = (folder / "calls").read_text().splitlines()
        assert [line.split("--n ")[1][0] for line in calls] == ["1", "2", "1", "2"]


def test_the_median_stands_between_its_quartiles():
    pairs = [(1.0, 0.9), (2.0, 2.0), (1.0, 1.1), (1.0, 1.2), (1.0, 1.3)]
    table = kit_builds.table_of({("hog", 1): pairs})
    assert table.splitlines()[-1] == "| hog | 1 | 1.100 | 0.950 to 1.250 | 0.900 | 5 |"
