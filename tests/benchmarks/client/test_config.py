"""Where tokens are kept, and who can read them."""

import errno
import os
import stat

import pytest
from mpet.config import Config, chosen_server, chosen_token, config_file, plain_server
from mpet.errors import MpetError, UsageError


def test_the_file_is_its_owners_alone_even_where_it_was_not_before(monkeypatch):
    config = Config("https://a", {"https://a": "mpet_1"})
    path = config.save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    config.save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["config.json"]
    assert Config.load() == config


def test_what_is_given_comes_before_the_environment_and_that_before_the_login(monkeypatch):
    Config("https://kept", {"https://kept": "kept", "https://other": "other"}).save()
    assert (chosen_server(None), chosen_token(None, "https://kept")) == ("https://kept", "kept")
    assert chosen_token(None, "https://nobody") is None
    monkeypatch.setenv("MPET_SERVER", "https://environment/")
    monkeypatch.setenv("MPET_TOKEN", "environment")
    assert (chosen_server(None), chosen_token(None, "https://kept")) == ("https://environment", "environment")
    assert (chosen_server("given.org"), chosen_token("given", "https://kept")) == ("https://given.org", "given")


def test_without_a_server_it_says_how_to_name_one():
    with pytest.raises(UsageError, match="--server URL"):
        chosen_server(None)


def test_a_broken_file_is_named():
    path = config_file()
    path.parent.mkdir(parents=True)
    for content in ("{", "[]", '{"tokens": []}'):
        path.write_text(content)
        with pytest.raises(UsageError, match=r"config\.json"):
            Config.load()


@pytest.mark.parametrize("address", ["localhost:8000", "127.0.0.1:8000"])
def test_a_server_of_this_machine_needs_no_tls(address):
    assert plain_server(address) == f"http://{address}"


def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_left(monkeypatch, tmp_path):
    monkeypatch.setattr("json.dump", full_disk)
    with pytest.raises(MpetError, match=r"config\.json cannot be written: .*No space left.*; MPET_CONFIG_DIR"):
        Config("https://a", {}).save()
    assert [*config_file().parent.iterdir()] == []
    monkeypatch.setenv("MPET_CONFIG_DIR", "/proc/none")
    with pytest.raises(MpetError, match="MPET_CONFIG_DIR chooses another folder"):
        Config("https://a", {}).save()


def full_disk(*values, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
