"""Who may read the state folder (trust 17), and how its secret key is made (trust, third audit, 10)."""

import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mpet_site.state_folder import file_lock, is_older_than, make_private, replace_private_file, stored_text
from tests.paths import ROOT
from tests.processes import environment_of, output_of


def modes_below(folder) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def expected_modes(folder) -> dict[str, int]:
    return {name: 0o700 if (folder / name).is_dir() else 0o600 for name in modes_below(folder)}


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def open_folder(tmp_path, open_umask):
    """As the first release left it."""
    folder = tmp_path / "var"
    for name in ("mpet.sqlite3", "mpet.sqlite3-wal", "media/uploads/a.tar.gz"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    return folder


def test_a_folder_that_was_open_is_closed_with_all_that_is_in_it_and_files_in_it_every_time(open_folder):
    assert modes_below(open_folder)["media/uploads/a.tar.gz"] == 0o666
    make_private(open_folder)
    assert modes_below(open_folder) == expected_modes(open_folder)
    (open_folder / "lease").write_text("x")
    make_private(open_folder)
    assert modes_below(open_folder) == expected_modes(open_folder)


def test_links_out_of_the_folder_are_not_followed(open_folder, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("x")
    (open_folder / "link").symlink_to(outside)
    make_private(open_folder)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o666


SERVE_AND_UPLOAD = """
import django
django.setup()
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from mpet_site.web.rate_counts import count_event
call_command("migrate", "contenttypes", verbosity=0)  # a file with a table is enough
default_storage.save("uploads/a/b.tar.gz", ContentFile(b"x"))
count_event("x", 60)
call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=["admin", "drf*", "rest*", "vendor"])
"""


def test_whatever_a_process_makes_in_the_folder_is_its_owner_s_alone_and_static_files_are_not(tmp_path, open_umask):
    state, static = tmp_path / "var", tmp_path / "static"
    output_of("-c", SERVE_AND_UPLOAD, environment=environment_of(state, MPET_STATIC_ROOT=str(static)))
    assert modes_below(state) == expected_modes(state)
    assert {"mpet.sqlite3", "secret_key", "rates.sqlite3", "media/uploads/a/b.tar.gz"} <= set(modes_below(state))
    assert {mode for name, mode in modes_below(static).items() if name.endswith(".css")} == {0o644}


SAY_KEY = """
import sys, time
from django.core.management import utils
make = utils.get_random_secret_key
utils.get_random_secret_key = lambda: time.sleep(0.5) or make()
sys.stdin.readline()
from mpet_site import settings
print(settings.SECRET_KEY)
"""


@pytest.mark.parametrize(
    "before", [None, pytest.param("", marks=pytest.mark.lab), "\n"], ids=["missing", "empty", "blank"]
)
def test_processes_that_start_at_once_share_one_secret_key(tmp_path, before):
    if before is not None:
        (tmp_path / "secret_key").write_text(before)
    environment = {name: value for name, value in os.environ.items() if name != "MPET_SECRET_KEY"}
    environment |= {"MPET_STATE_DIR": str(tmp_path), "DATABASE_URL": "sqlite:///:memory:"}
    starting = [
        subprocess.Popen(
            [sys.executable, "-c", SAY_KEY],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(6)
    ]  # fmt: skip
    for process in starting:
        process.stdin.write("\n")
        process.stdin.flush()
    keys = {process.communicate()[0].strip() for process in starting}
    assert [process.returncode for process in starting] == [0] * 6
    assert keys == {(tmp_path / "secret_key").read_text()}
    assert len(keys.pop()) >= 50
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_a_text_is_made_once_by_whoever_has_the_lock(tmp_path):
    """Each thread finds an empty file, and writes slowly."""
    (tmp_path / "key").touch()
    made = []

    def make() -> str:
        time.sleep(0.05)
        made.append(f"key {len(made)}")
        return made[-1]

    with ThreadPoolExecutor(6) as threads:
        read = list(threads.map(lambda _: stored_text(tmp_path / "key", make), range(6)))
    assert (made, set(read)) == (["key 0"], {"key 0"})


def test_a_killed_process_leaves_the_former_content(tmp_path, monkeypatch):
    replace_private_file(tmp_path / "key", b"former")
    monkeypatch.setattr(os, "fsync", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        replace_private_file(tmp_path / "key", b"new")
    assert (tmp_path / "key").read_bytes() == b"former"


def test_a_lock_is_held_by_one(tmp_path):
    with file_lock(tmp_path / "lock") as first, file_lock(tmp_path / "lock", wait=False) as second:
        assert (first, second) == (True, False)
    with file_lock(tmp_path / "lock", wait=False) as again:
        assert again


def test_what_was_written_long_ago_is_older_and_what_is_gone_is_not(tmp_path):
    left = tmp_path / "left"
    left.mkdir()
    assert not is_older_than(left, 60)
    os.utime(left, times=(time.time() - 120,) * 2)
    assert is_older_than(left, 60)
    assert not is_older_than(left, 180)
    assert not is_older_than(tmp_path / "gone", 60)
