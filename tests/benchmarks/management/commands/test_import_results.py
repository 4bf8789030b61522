import pytest
from django.core.management import CommandError, call_command

from benchmarks.models import Upload
from profiles.models import Profile, Source
from tests.benchmarks.uploads import tarball
from tests.profiles.deliveries import measured
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


def write(path, content):
    path.write_bytes(content)
    return str(path)


def test_each_file_is_stored(tmp_path, capsys):
    one = write(tmp_path / "one.tar.gz", tarball(sample_measurements(1, 2)))
    other = write(tmp_path / "other.tar.gz", tarball(sample_measurements(1, 3, seed=1)))
    call_command("import_results", one, other)
    out, err = capsys.readouterr()
    assert f"{one}: 2 profiles, public" in out
    assert f"{other}: 3 profiles, public" in out
    assert "import" in err  # the progress bar
    assert Profile.objects.count() == 5
    assert set(Upload.objects.values_list("status", flat=True)) == {"accepted"}


def test_one_refused_does_not_keep_the_others_out(tmp_path, capsys):
    good = write(tmp_path / "good.tar.gz", tarball())
    measurements = sample_measurements(1, 1)
    measurements.profiles[0].runs.time_ns[4] = -5
    bad = write(tmp_path / "bad.tar.gz", tarball(measurements))
    missing = str(tmp_path / "missing.tar.gz")
    with pytest.raises(CommandError, match="2 of 3 refused") as caught:
        call_command("import_results", bad, missing, good)
    assert caught.value.returncode == 1
    out = capsys.readouterr().out
    assert f"{bad}: rejected\n  error: runs.csv:6: " in out
    assert f"{missing}: refused\n  error: No such file or directory" in out
    assert f"{good}: 2 profiles, public" in out
    assert Source.objects.count() == 1


def test_the_same_file_again_is_the_same_import(tmp_path, capsys):
    file = write(tmp_path / "one.tar.gz", tarball())
    call_command("import_results", file, file)
    assert capsys.readouterr().out.count("2 profiles, public") == 2
    assert Source.objects.count() == Upload.objects.count() == 1


def test_private(tmp_path, alice, capsys):
    file = write(tmp_path / "one.tar.gz", tarball())
    call_command("import_results", file, "--private", "--owner", "alice")
    assert "2 profiles, private" in capsys.readouterr().out
    assert Source.objects.get().private_to == alice
    assert not Profile.objects.public().exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(["--private"], "give --owner USERNAME"), (["--owner", "nobody"], "there is no user 'nobody'")],
)
def test_owner_is_needed(tmp_path, arguments, reason):
    file = write(tmp_path / "one.tar.gz", tarball())
    with pytest.raises(CommandError, match=reason):
        call_command("import_results", file, *arguments)
    assert not Upload.objects.exists()


def test_emulated_says_that_it_needs_an_owner(tmp_path, alice, capsys):
    file = write(tmp_path / "one.tar.gz", tarball(measured(origin="emulated")))
    with pytest.raises(CommandError, match="1 of 1 refused"):
        call_command("import_results", file)
    assert "give --owner USERNAME" in capsys.readouterr().out
    call_command("import_results", file, "--owner", "alice")
    assert "1 profiles, private" in capsys.readouterr().out
