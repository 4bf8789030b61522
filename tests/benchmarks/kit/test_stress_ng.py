"""`make stress-ng` with a stand-in for stress-ng, whose numbers are known."""

import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.archive import read_archive, write_archive
from benchmarks.public_data.sparecores import stress_ng_workload
from tests.paths import KIT
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.kit
STAND_IN = """#!/bin/sh
[ "$1" = --version ] && echo "stress-ng, version 0.20.01 (gcc 13, x86_64)" && exit
shift 5  # --metrics --timeout 1s --temp-path FOLDER
name=${1#--}
[ "$name" = unknown ] && exit 1
rate=$(($2 * 250))
[ "$name" = late ] && [ "$2" = 1 ] && rate=0
echo "stress-ng: info:  [7] dispatching hogs: $2 $name"
echo "stress-ng: metrc: [7] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s"
echo "stress-ng: metrc: [7] $name 1777 2.00 0.58 0.00 $rate 3044.27 29.19 2436"
echo "stress-ng: metrc: [7] miscellaneous metrics:"
echo "stress-ng: metrc: [7] $name 0.00 $name comparisons per sec (harmonic mean of $2 instances)"
"""


def measure(native, tmp_path, stressors, *, stand_in=STAND_IN):
    (tmp_path / "bin").mkdir()
    if stand_in:
        (tmp_path / "bin/stress-ng").write_text(stand_in)
        (tmp_path / "bin/stress-ng").chmod(0o755)
    path = f"{tmp_path / 'bin'}:/bin:/usr/bin" if stand_in else str(tmp_path / "bin")
    return subprocess.run(
        ["/bin/sh", "stress-ng/measure.sh", native, tmp_path / "results", "a machine", "1", stressors],
        cwd=KIT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def measured(native, tmp_path):
    done = measure(native, tmp_path, "cpu late unknown")
    assert done.returncode == 0, done.stderr
    with Path(done.stdout.strip()).open("rb") as file:
        return read_archive(file)


def test_workloads_are_those_of_the_fleet(measured):
    """The same identity: name, version, input, runtime."""
    for workload in measured.workloads:
        expected = stress_ng_workload(workload.section, "0.20.01")
        for name in ("name", "application", "section", "version", "input", "runtime"):
            assert getattr(workload, name) == getattr(expected, name)
    assert [workload.section for workload in measured.workloads] == ["cpu-div16", "cpu"]
    assert measured.time_kinds.get(0, "absolute") == "absolute"


def test_times_are_those_of_a_million_bogo_operations(measured):
    for record in measured.profiles:
        assert record.runs.n[0] == 1
        assert record.runs.time_ns.tolist() == [round(1e15 / (250 * n)) for n in record.runs.n.tolist()]
    assert measured.platforms[0].name == "a machine"
    assert measured.generator.startswith("stress-ng 0.20.01 by mpet-kit")
    assert "dispatching hogs" in measured.log


def test_what_gives_no_result_is_told(native, tmp_path):
    done = measure(native, tmp_path, "unknown")
    assert "unknown n = 1: no result, left out" in done.stderr
    assert done.returncode == 0  # cpu-div16 has one


def test_without_stress_ng_it_says_how_to_get_it(native, tmp_path):
    done = measure(native, tmp_path, "cpu", stand_in="")
    assert done.returncode != 0
    assert "stress-ng is not installed" in done.stderr


def bridged(native, tmp_path, stand_in):
    """What bridge.sh says, and the tarball of a sweep afterwards."""
    (tmp_path / "bin").mkdir()
    if stand_in:
        (tmp_path / "bin/stress-ng").write_text(stand_in)
        (tmp_path / "bin/stress-ng").chmod(0o755)
    tarball = tmp_path / "quick.tar.gz"
    sweep = replace(sample_measurements(1, 2), platforms=[sample_platform(0, name="host")])
    with tarball.open("wb") as file:
        write_archive(file, sweep, created=datetime(2026, 11, 24, tzinfo=UTC))
    done = subprocess.run(
        ["/bin/sh", "stress-ng/bridge.sh", native, tarball, "cpu memcpy"],
        cwd=KIT,
        env={**os.environ, "PATH": f"{tmp_path / 'bin'}:/bin:/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with tarball.open("rb") as file:
        return done.stderr, sweep, read_archive(file)


def test_a_quick_sweep_has_a_bridge_to_the_fleet_in_its_tarball(native, tmp_path):
    said, sweep, joined = bridged(native, tmp_path, STAND_IN)
    assert "relates this machine to 1,917 servers of the public fleet" in said
    names = [workload.name for workload in joined.workloads]
    assert names == [*(workload.name for workload in sweep.workloads), "stress-ng/cpu", "stress-ng/memcpy"]
    assert [workload.version for workload in joined.workloads][-2:] == ["0.20.01", "0.20.01"]
    assert joined.platforms[0].name == "host"
    before, after = (profile.runs for profile in (sweep.profiles[0], joined.profiles[0]))
    assert after.time_ns.tolist() == before.time_ns.tolist()
    assert joined.profiles[-1].runs.time_ns.tolist()[0] == round(1e15 / 250)


@pytest.mark.parametrize(
    ("stand_in", "said"),
    [
        (None, "stress-ng 0.20.01, which is not installed, would narrow the intervals of predictions for 1,917"),
        (STAND_IN.replace("0.20.01", "0.15.06"), "not installed (it is 0.15.06), would narrow the intervals"),
        (STAND_IN.replace("shift 5", "exit 1; shift 5"), "stress-ng gave no result"),
    ],
)
def test_without_the_version_of_the_fleet_one_sentence_says_so(native, tmp_path, stand_in, said):
    err, sweep, kept = bridged(native, tmp_path, stand_in)
    assert said in err
    assert [workload.name for workload in kept.workloads] == [workload.name for workload in sweep.workloads]


def test_the_bridge_takes_a_minute_at_most():
    stressors = (KIT / "stress-ng/bridge").read_text().split()
    seconds = int((KIT / "stress-ng/bridge.sh").read_text().split("\nseconds=")[1].split()[0])
    assert len(stressors) == 10
    assert 2 * seconds * len(stressors) <= 50, "with starting them this is to stay below a minute"
