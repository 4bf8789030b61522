import pytest
from django.core.management import CommandError, call_command

from profiles.models import CounterReading, Platform, Profile, Revision, Run, Source, Workload
from tests.profiles.deliveries import stored_counts
from tests.profiles.measurements.test_datasets import COUNTERS, PLATFORM, write

pytestmark = pytest.mark.django_db


def test_import_dataset(tmp_path, capsys):
    folder = tmp_path / "mine"
    folder.mkdir()
    call_command("import_dataset", str(write(folder, counters=COUNTERS)))
    out, err = capsys.readouterr()
    assert out.startswith("mine: 1 platforms, 2 workloads, 2 profiles, 4 runs, 2 counter readings in ")
    assert "licence: CC0\nsource: somebody\n" in out
    assert "store" in err  # the progress bar
    source = Source.objects.get()
    assert (source.kind, source.label, source.licence, source.citation) == ("dataset", "mine", "CC0", "somebody")
    assert (source.owner, source.private_to) == (None, None)
    assert Profile.objects.get(workload__name="fft@2").workload.time_kind == "relative"


def test_import_dataset_twice_and_with_another_spelling(tmp_path, capsys):
    write(tmp_path)
    call_command("import_dataset", str(tmp_path))
    before = stored_counts()
    capsys.readouterr()
    call_command("import_dataset", str(tmp_path))
    out, err = capsys.readouterr()
    assert "uploaded before" in err
    assert "profiles" not in out
    assert stored_counts() == before
    write(tmp_path, platforms=[{"name": PLATFORM["name"].upper()}])
    call_command("import_dataset", str(tmp_path))
    assert "warning: 'BOX' was matched to the existing platform 'box'" in capsys.readouterr().err


@pytest.mark.parametrize("private", [True, False])
def test_import_dataset_of_an_owner(tmp_path, alice, private):
    call_command("import_dataset", str(write(tmp_path)), "--owner", "alice", *["--private"] * private)
    source = Source.objects.get()
    assert (source.owner, source.private_to) == (alice, alice if private else None)
    assert [model.objects.public().exists() for model in (Profile, Platform)] == [not private] * 2
    assert Revision.current() == (int(not private), 0)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(["--private"], "give --owner USERNAME"), (["--owner", "nobody"], "there is no user 'nobody'")],
)
def test_import_dataset_needs_its_owner(tmp_path, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("import_dataset", str(write(tmp_path)), *arguments)
    assert not Source.objects.exists()


def test_import_dataset_refuses_whole(tmp_path):
    write(tmp_path, runs=["p1,sort,1,1,2.0,absolute", "p1,sort,2,1,0,absolute"])
    with pytest.raises(CommandError, match=r"runs\.csv, line 3: time_s is 0, less than 1e-18") as caught:
        call_command("import_dataset", str(tmp_path))
    assert caught.value.returncode == 1
    assert set(stored_counts().values()) == {0}


def test_import_dataset_refused_by_what_is_known(tmp_path):
    write(tmp_path, runs=["p1,sort,1,1,2.0,absolute"])
    call_command("import_dataset", str(tmp_path))
    write(tmp_path, runs=["p1,sort,1,1,2.0,relative"])
    with pytest.raises(CommandError, match="has absolute times"):
        call_command("import_dataset", str(tmp_path))
    assert Source.objects.count() == 1


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("gbm", (6, 29, 59, 1058, 0)),
        ("rrze-likwid", (2, 16, 32, 5409, 64053)),
        ("sparecores-gb6", (179, 16, 2864, 22736, 0)),
    ],
)
def test_import_public_datasets(shared_data, capsys, name, counts):
    call_command("import_dataset", str(shared_data / name))
    models = (Platform, Workload, Profile, Run, CounterReading)
    assert tuple(model.objects.count() for model in models) == counts
    assert Profile.objects.filter(decomposed=False, fit_error__gt=0, fit_error__lt=1).exists()
    assert len(capsys.readouterr().err.split("warning:")) < 25


@pytest.mark.shared_data
def test_datasets_of_the_same_machines_share_their_platforms(shared_data):
    call_command("import_dataset", str(shared_data / "sparecores-gb6"))
    before = Platform.objects.count()
    call_command("import_dataset", str(shared_data / "sparecores-llama"))
    assert Platform.objects.count() < before + 186
    assert Profile.objects.count() == 2864 + 7630
