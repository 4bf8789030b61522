"""Who may read the state folder: trust 17."""

import os
import stat
import subprocess
import sys

import pytest

from mpet_site.state_folder import make_private
from tests.paths import ROOT


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


def test_a_folder_that_was_open_is_closed_with_all_that_is_in_it(open_folder):
    assert modes_below(open_folder)["media/uploads/a.tar.gz"] == 0o666
    make_private(open_folder)
    assert modes_below(open_folder) == expected_modes(open_folder)


def test_what_lies_right_in_a_closed_folder_is_closed_every_time(open_folder):
    make_private(open_folder)
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
call_command("migrate", verbosity=0)
default_storage.save("uploads/a/b.tar.gz", ContentFile(b"x"))
count_event("x", 60)
call_command("collectstatic", interactive=False, verbosity=0)
"""


def test_whatever_a_process_makes_in_the_folder_is_its_owner_s_alone_and_static_files_are_not(tmp_path, open_umask):
    state, static = tmp_path / "var", tmp_path / "static"
    environment = {
        **os.environ,
        "MPET_STATE_DIR": str(state),
        "MPET_STATIC_ROOT": str(static),
        "DJANGO_SETTINGS_MODULE": "mpet_site.settings",
    }
    environment.pop("DATABASE_URL", None)
    subprocess.run([sys.executable, "-c", SERVE_AND_UPLOAD], cwd=ROOT, env=environment, check=True)
    assert modes_below(state) == expected_modes(state)
    assert {"mpet.sqlite3", "secret_key", "rates.sqlite3", "media/uploads/a/b.tar.gz"} <= set(modes_below(state))
    assert {mode for name, mode in modes_below(static).items() if name.endswith(".css")} == {0o644}
