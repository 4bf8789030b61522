"""The kit on other architectures: cross-compiled and run by qemu-user. What works is tested, not how fast it is."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.archive import read_archive
from tests.benchmarks.kit.kit_build import BUILDS, make, make_bench, need, output, records

pytestmark = [pytest.mark.kit, pytest.mark.lab]

PROFILED = ("edge_pipeline", "fib", "hog", "sgm")


@dataclass(frozen=True)
class Architecture:
    compiler: str
    emulator: str
    machine: str
    word_bits: int


ARCHITECTURES = {
    "aarch64": Architecture("aarch64-linux-gnu-g++", "qemu-aarch64", "aarch64", 64),
    "armhf": Architecture("arm-linux-gnueabihf-g++", "qemu-arm", "armv7l", 32),
}


@dataclass(frozen=True)
class Emulated:
    """A folder of stand-ins that run the cross-compiled programs, so that these can run each other too."""

    architecture: Architecture
    programs: Path


@pytest.fixture(scope="module", params=ARCHITECTURES)
def emulated(request, tmp_path_factory) -> Emulated:
    architecture = ARCHITECTURES[request.param]
    need(architecture.compiler, architecture.emulator)
    build = BUILDS / request.param
    settings = {"build": request.param, "CXX": architecture.compiler, "OPTIMISE": "-O1", "LDFLAGS": "-static"}
    make(*(f"{build}/mpet-{name}" for name in ("topology", "pack", "sweep")), **settings)
    make_bench("clean", **settings)
    make_bench("profile", *PROFILED, **settings)
    programs = tmp_path_factory.mktemp(request.param)
    for program in build.glob("mpet-*"):
        stand_in = programs / program.name
        stand_in.write_text(f'#!/bin/sh\nexec {architecture.emulator} {shlex.quote(str(program))} "$@"\n')
        stand_in.chmod(0o755)
    return Emulated(architecture, programs)


def checksums(program: Path, application: str, n: int) -> dict[str, str]:
    listing = output(program, "--application", application, "--n", n, "--scale", "tiny", "--repeats", "1")
    return {run[0]: run[-1] for run in records(listing, "run")}


def test_results_have_the_same_bits(emulated, native, applications):
    for application in applications:
        here = checksums(native / "mpet-bench-clean", application, 1)
        assert checksums(emulated.programs / "mpet-bench-clean", application, 1) == here


def test_the_profile_build_works_with_threads(emulated, native):
    for application in PROFILED:
        here = checksums(native / "mpet-bench-clean", application, 1)
        assert checksums(emulated.programs / "mpet-bench-profile", application, 2) == here


def test_a_sweep_is_packed_as_emulated(emulated, tmp_path):
    options = ["--workloads", "fib hog", "--threads", "1", "--scale", "tiny", "--repeats", "1", "--no-roofline"]
    command = [emulated.programs / "mpet-sweep", "--bin", emulated.programs, "--results", tmp_path, *options]
    with Path(output(*command).strip()).open("rb") as file:
        measurements = read_archive(file)
    platform = measurements.platforms[0]
    assert measurements.origin == "emulated"
    expected = emulated.architecture
    assert (platform.architecture, platform.word_bits) == (expected.machine, expected.word_bits)
    assert len(measurements.profiles) == 4


def test_the_emulated_machine_is_described(emulated):
    assert output(emulated.programs / "mpet-topology", "--origin") == "emulated\n"
    assert json.loads(output(emulated.programs / "mpet-topology"))["architecture"] == emulated.architecture.machine
