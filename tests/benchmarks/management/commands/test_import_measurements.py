import json

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from profiles.models import Platform, Profile, Source
from tests.benchmarks.formats.test_formats import FILES, SPECIMENS

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine(tmp_path):
    path = tmp_path / "platform.json"
    path.write_text(json.dumps({"name": "laptop", "cpu_model": "ACME 1000", "threads": 8, "n_max": 8}))
    return str(path)


def imported(form, *arguments, names=None):
    files = [str(SPECIMENS / name) for name in names or FILES[form]]
    call_command("import_measurements", *files, "--as", form, *arguments)


@pytest.mark.parametrize("form", FILES)
def test_every_format_is_stored(form, machine, capsys):
    columns = ["--map", "workload=Benchmark", "--map", "n=Threads", "--map", "time_ms=Milliseconds"]
    imported(form, "--platform", machine, *(columns if form == "csv" else ()))
    out, err = capsys.readouterr()
    assert f"{Profile.objects.count()} profiles on laptop, public" in out
    assert "store" in err  # the progress bar
    assert Profile.objects.exists()
    assert Platform.objects.get().cpu_model == "ACME 1000"
    assert Source.objects.get().kind == "files"


def test_several_files_are_one_delivery_which_twice_is_once_and_of_another_machine_another(machine, tmp_path, capsys):
    for _ in range(2):
        imported("talp", "--platform", machine)
    out, err = capsys.readouterr()
    assert "solve: n = 1 to 2" in out and "uploaded before" in err
    source = Source.objects.get()
    assert source.label == "talp-1.json and 2 more"
    assert source.environment["pop_metrics"][0]["parallelEfficiency"] == 1.0
    slug = Platform.objects.get().slug
    imported("hyperfine", "--platform-slug", slug)
    assert Profile.objects.filter(platform__slug=slug, source__label="hyperfine-1.15.0.json").count() == 1
    (tmp_path / "platform.json").write_text(json.dumps({"name": "desktop", "cpu_model": "ACME 2000", "threads": 8}))
    imported("talp", "--platform", machine)
    assert (Source.objects.count(), Platform.objects.count()) == (3, 2)


def test_private_stays_private(machine):
    alice = get_user_model().objects.create_user("alice")
    imported("talp", "--platform", machine, "--private", "--owner", "alice")
    assert set(Profile.objects.values_list("private_to", flat=True)) == {alice.pk}
    slug = Platform.objects.get().slug
    with pytest.raises(CommandError, match="there is no platform"):
        imported("hyperfine", "--platform-slug", slug)


@pytest.mark.parametrize(
    ("form", "arguments", "reason"),
    [
        ("talp", (), "the files do not name the machine"),
        ("talp", ("--platform-slug", "nowhere"), "there is no platform 'nowhere'"),
        ("talp", ("--platform", "nowhere.json"), "No such file"),
        ("csv", (), "phoronix-10.8.6.xml:1: no column is mapped to n"),
        ("nonsense", (), "invalid choice"),
        ("csv", ("--map", "n"), "is not NAME=COLUMN"),
    ],
)
def test_what_is_refused_stores_nothing(form, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        imported(form, *arguments, names=FILES["talp"] if form == "talp" else FILES["phoronix"])
    assert not Source.objects.exists()


def test_a_platform_that_cannot_be_is_refused(tmp_path):
    path = tmp_path / "platform.json"
    path.write_text('{"name": "a", "cpu_model": "b",\n"physical_cores": 8, "threads": 4}')
    with pytest.raises(CommandError, match=r"platform\.json:2: impossible topology"):
        imported("talp", "--platform", str(path))
