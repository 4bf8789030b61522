import gzip
from functools import cache

import pytest
from django.core.management import CommandError, call_command

from benchmarks import simulator
from benchmarks.archive import read_archive
from benchmarks.management.commands import load_demo
from benchmarks.simulator import find_hardware
from benchmarks.simulator.simulation import GENERATOR
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.models import Platform, Profile, Revision, Source, Workload
from tests.predictor.conftest import store
from tests.samples import sample_measurements

MACHINES = tuple(find_hardware(name) for name in ("A53 (S905)", "A7 (BCM2836)", "i7-3667U"))
PROGRAMS = simulator.PROGRAMS[:6]


@cache
def few_programs(seed, hardware):
    return simulator.simulate_tarball(seed, hardware, PROGRAMS)


@pytest.fixture(autouse=True)
def little_demo(monkeypatch, tmp_path):
    monkeypatch.setattr(load_demo, "STORED_TARBALLS", tmp_path / "nothing is stored")
    monkeypatch.setattr(load_demo, "HARDWARE", MACHINES)
    monkeypatch.setattr(load_demo, "simulate_tarball", few_programs)


def load(*arguments):
    call_command("load_demo", "--jobs", "1", *arguments)


@pytest.fixture
def demo(db):
    load()


def test_two_processes_simulate_without_django(monkeypatch, tmp_path):
    """Nothing sets Django up in them; all programs, as nothing that a test changes here is known there."""
    monkeypatch.undo()
    monkeypatch.setattr(load_demo, "HARDWARE", MACHINES[:2])
    call_command("load_demo", "--jobs", "2", "--output", tmp_path)
    names = {read_archive(path.open("rb")).platforms[0].name for path in tmp_path.iterdir()}
    assert names == {hardware.record().name for hardware in MACHINES[:2]}


@pytest.mark.parametrize(
    "machines", [MACHINES[:1], pytest.param(load_demo.HARDWARE, marks=pytest.mark.lab)], ids=["one", "all"]
)
def test_what_is_stored_is_what_the_simulator_makes(machines, monkeypatch, tmp_path):
    """If the simulator changes, `manage.py load_demo --output benchmarks/simulator/demo` writes it again."""
    monkeypatch.undo()
    monkeypatch.setattr(load_demo, "HARDWARE", machines)
    call_command("load_demo", "--output", tmp_path)
    for path in tmp_path.iterdir():
        assert gzip.decompress(path.read_bytes()) == gzip.decompress(
            (load_demo.STORED_TARBALLS / path.name).read_bytes()
        )


@pytest.mark.django_db
def test_the_default_seed_simulates_nothing(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(load_demo, "HARDWARE", MACHINES[:1])
    monkeypatch.setattr(load_demo, "simulate_tarball", None)
    load()
    assert set(Source.objects.values_list("generator", flat=True)) == {GENERATOR}
    assert Profile.objects.count() == len(simulator.PROGRAMS)


def test_each_machine_of_the_demo_is_stored(monkeypatch):
    monkeypatch.undo()
    stored = {path.name for path in load_demo.STORED_TARBALLS.iterdir()}
    assert stored == {load_demo.tarball_name(hardware) for hardware in load_demo.HARDWARE}


@pytest.mark.django_db
def test_loads_every_pair_marked_as_simulated(demo):
    assert Profile.objects.count() == len(MACHINES) * len(PROGRAMS)
    assert set(Profile.objects.values_list("origin", "private_to", "decomposed")) == {("simulated", None, True)}
    assert set(Source.objects.values_list("kind", "origin")) == {("simulator", "simulated")}
    for model in (Platform, Workload):
        assert all(name.endswith(" (simulated)") for name in model.objects.values_list("name", flat=True))


def test_the_second_call_does_nothing(demo, monkeypatch, capsys, django_assert_max_num_queries):
    """1 the sources, 1 the count of profiles; nothing is simulated."""
    monkeypatch.setattr(load_demo, "simulate_tarball", None)
    revision = Revision.current()
    with django_assert_max_num_queries(2):
        load()
    assert "already loaded: 18 simulated profiles on 3 machines, seed 1" in capsys.readouterr().out
    assert Revision.current() == revision


def test_what_an_interrupted_call_left_out_is_completed(demo):
    Source.objects.filter(label__startswith="A7").delete()
    before = set(Profile.objects.values_list("pk", flat=True))
    load()
    assert before < set(Profile.objects.values_list("pk", flat=True))
    assert Source.objects.count() == len(MACHINES)


def test_another_seed_needs_force_and_replaces_the_demo(demo):
    with pytest.raises(CommandError, match="--force"):
        load("--seed", "2")
    times = set(Profile.objects.values_list("t1_s", flat=True))
    revision = Revision.current()
    load("--seed", "2", "--force")
    assert Source.objects.count() == Platform.objects.count() == len(MACHINES)
    assert Workload.objects.count() == len(PROGRAMS)
    assert not times & set(Profile.objects.values_list("t1_s", flat=True))
    assert Revision.current() > revision


def test_force_leaves_what_was_measured(demo):
    store(sample_measurements(2, 3))
    load("--force")
    assert Profile.objects.filter(origin="measured").count() == 6
    assert Profile.objects.filter(origin="simulated").count() == len(MACHINES) * len(PROGRAMS)


def test_tarballs_go_to_a_folder_without_a_database(tmp_path):
    load("--output", str(tmp_path))
    files = sorted(tmp_path.iterdir())
    names = ["mpet-simulated-a53-s905", "mpet-simulated-a7-bcm2836", "mpet-simulated-i7-3667u"]
    assert [file.name for file in files] == [f"{name}.tar.gz" for name in names]
    with files[0].open("rb") as file:
        assert read_archive(file).platforms == [MACHINES[0].record()]


@pytest.mark.parametrize("arguments", [("--seed", "x"), ("--seed", "-1"), ("--output", "no/such/folder")])
def test_refuses_what_makes_no_sense(arguments):
    with pytest.raises(CommandError):
        load(*arguments)


def test_a_fresh_demo_can_be_predicted_in_and_the_answer_is_marked(demo):
    answer = predict(PredictionRequest("hog-gradient-simulated", "a7-bcm2836-simulated")).answer
    assert answer["simulated"] is True
    assert answer["measured"]["error_percent"] is not None
    assert all("simulated" in one["label"] for one in answer["sources"])


def test_the_demo_moves_no_prediction_from_measurements(db):
    store(sample_measurements(3, 6))
    request = PredictionRequest("app0-section0", "machine-1")
    before = predict(request).answer
    load()
    after = predict(request).answer
    assert (after["curve"], after["candidates"], after["simulated"]) == (before["curve"], before["candidates"], False)


@pytest.mark.parametrize("address", ["/platforms/", "/workloads/", "/platforms/a7-bcm2836-simulated/"])
def test_lists_mark_it(demo, client, address):
    content = client.get(address).content.decode()
    assert '<span class="badge simulated">simulated</span>' in content
