"""Every command against a live server: what it prints, as a table and as JSON, and with which status it ends."""

import json
import re
import sys
from types import ModuleType

import pandas as pd
import pytest
import typer
from mpet import Client, cli
from mpet.config import Config

from accounts.models import ApiToken
from benchmarks.models import Upload
from predictor.core import public_dump
from predictor.core.errors import PredictionError
from predictor.core.methods import METHODS
from profiles.dump.files import DumpError
from profiles.dump.published import publish_dump
from tests.benchmarks.uploads import tarball
from tests.paths import ROOT
from tests.predictor.conftest import store
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db(transaction=True)
WORKLOAD, TARGET = "app1-section1", "machine-2"


@pytest.fixture
def server(live_server, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    store(sample_measurements(4, 6))
    return live_server.url


@pytest.fixture
def token(alice):
    return ApiToken.issue(alice, ApiToken.Scope.UPLOAD)[1]


@pytest.fixture
def core(monkeypatch):
    """mpet_core as where its wheel is installed, of the modules that it is built from."""
    installed = ModuleType("mpet_core")
    installed.read_dump, installed.DumpError = public_dump.read_dump, DumpError
    installed.METHODS, installed.PredictionError = METHODS, PredictionError
    monkeypatch.setitem(sys.modules, "mpet_core", installed)


@pytest.fixture
def mpet(server, token, core, monkeypatch, capsys):
    """Run the command as a shell does: status, standard output, standard error."""

    def run(*words, server=server, token=token):
        monkeypatch.setattr("sys.argv", ["mpet", "--server", server, "--token", token, *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    monkeypatch.setattr(cli.out, "_width", 100)
    return run


def test_predict(mpet, client):
    status, text, _ = mpet("predict", WORKLOAD, TARGET, "--json")
    document = json.loads(text)
    assert status == 0
    assert client.get(document["url"]).json()["curve"] == document["curve"]
    status, text, _ = mpet("predict", WORKLOAD, TARGET, "--n", "1,16", "--reference", "machine-0")
    assert status == 0 and "speedup" in text and f"{WORKLOAD} on {TARGET}" in text


def test_rank_compare_and_what_if(mpet):
    status, text, _ = mpet("rank", WORKLOAD, "--where", "min_cores=2", "--n", "4", "--json")
    assert status == 0 and len(json.loads(text)["results"]) == 4
    status, text, _ = mpet("rank", WORKLOAD, "--limit", "2")
    assert "4 platforms, the fastest first" in text and "and 2 more" in text
    status, text, _ = mpet("compare", "platforms", "machine-0", "machine-1", "--json")
    assert status == 0 and json.loads(text)
    status, text, _ = mpet("compare", "platforms", "machine-0", "machine-1")
    assert status == 0 and "machine" in text
    before = json.loads(mpet("what-if", WORKLOAD, TARGET, "work=1", "--json")[1])
    after = json.loads(mpet("what-if", WORKLOAD, TARGET, "work=2", "--json")[1])
    assert 1.8 < after["t1_s"] / before["t1_s"] < 2.2


def test_upload_is_private_unless_public_is_said(mpet, tmp_path):
    path = tmp_path / "night.tar.gz"
    path.write_bytes(tarball())
    status, text, _ = mpet("upload", path, "--json")
    assert status == 0 and json.loads(text)["status"] == "accepted"
    assert Upload.objects.get().visibility == "private"
    upload = Upload.objects.get()
    status, text, _ = mpet("watch", upload.uid)
    assert status == 0 and "accepted" in text
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(b"no tarball")
    status, text, _ = mpet("upload", broken, "--public")
    assert status == 3 and "rejected" in text and "gzip" in text


def test_the_public_dump_is_fetched_and_predicted_from_without_a_server(mpet, tmp_path, settings):
    settings.STATE_DIR = tmp_path / "state"
    assert mpet("export", tmp_path / "dump")[0] == 2
    publish_dump()
    status, text, _ = mpet("export", tmp_path / "dump", "--format", "sqlite", "--json")
    assert status == 0 and json.loads(text)["revision"] == 1
    online = json.loads(mpet("predict", WORKLOAD, TARGET, "--json")[1])
    offline = json.loads(mpet("predict", WORKLOAD, TARGET, "--data", tmp_path / "dump", "--json")[1])
    for name in ("time_s", "low_s", "high_s", "speedup"):
        told, computed = ([point[name] for point in answer["curve"]] for answer in (online, offline))
        assert computed == pytest.approx(told, rel=1e-12), name
    status, _, message = mpet("predict", "sort", TARGET, "--data", tmp_path / "dump")
    assert status == 4 and "'sort' is not in the dump" in message
    assert mpet("predict", WORKLOAD, TARGET, "--method", "guess", "--data", tmp_path / "dump")[0] == 2
    assert mpet("predict", WORKLOAD, TARGET, "--data", tmp_path / "state")[0] == 1
    assert mpet("export", tmp_path / "dump")[0] == 2


def test_watch_prints_an_answer_once_until_it_changes(mpet):
    status, text, _ = mpet("watch", WORKLOAD, TARGET, "--every", "0.1", "--times", "3")
    assert status == 0 and text.count(f"{WORKLOAD} on {TARGET}") == 1


STATUSES = [
    (("predict", WORKLOAD, TARGET, "--n", "one"), 2, "give numbers of threads"),
    (("what-if", WORKLOAD, TARGET, "work"), 2, "NAME=VALUE"),
    (("predict",), 2, "Missing argument"),
    (("predict", "no-such", TARGET), 3, "no-such"),
    (("rank", WORKLOAD, "--where", "shoes=8"), 3, "shoes"),
]


@pytest.mark.parametrize(("words", "expected", "reason"), STATUSES)
def test_the_status_says_what_went_wrong(mpet, words, expected, reason):
    status, text, message = mpet(*words)
    assert (status, text) == (expected, "")
    assert reason in message


def test_a_refused_prediction_has_a_status_of_its_own_and_advice(mpet):
    status, _, message = mpet("predict", WORKLOAD, TARGET, "--reference", TARGET)
    assert (status == 4 and "candidates" in message) or "reference" in message
    assert mpet("upload", __file__, token="mpet_wrong")[0] == 5
    assert mpet("rank", WORKLOAD, server="http://127.0.0.1:9", token="x")[0] == 6


def test_login_keeps_a_token_that_works_and_logout_forgets_it(mpet, server, token, alice):
    status, _, message = mpet("login")
    assert status == 0 and "as alice" in message and token not in message
    assert Client().account()["username"] == "alice"
    assert Config.load().server == server
    assert mpet("login", token="mpet_wrong")[0] == 5
    assert mpet("logout")[0] == 0
    assert Config.load().tokens == {}
    assert mpet("logout")[0] == 5


def test_as_a_library(server, token):
    with Client(server, token) as client:
        prediction = client.predict(WORKLOAD, TARGET)
        assert isinstance(prediction.curve, pd.DataFrame)
        assert prediction.curve["time_s"].tolist() == [point.time_s for point in prediction.points]
        assert prediction.best.time_s == prediction.curve["time_s"].min()
        assert f"{WORKLOAD} on {TARGET}" in prediction._repr_html_()
        ranking = client.rank(WORKLOAD)
        assert ranking.platforms == ranking.frame["platform"].tolist() and len(ranking) == 4
        assert "<table>" in ranking._repr_html_()
        assert len(client.compare("platforms", ["machine-0", "machine-1"]).frame)


def test_completion_and_help_need_no_server(mpet):
    for command in (
        "measure",
        "profile",
        "upload",
        "predict",
        "rank",
        "compare",
        "what-if",
        "watch",
        "login",
        "logout",
    ):
        status, text, _ = mpet(command, "--help")
        assert status == 0 and "Usage" in text, command
        assert f"mpet {command}" in (ROOT / "docs" / "client.md").read_text()


DOCUMENTED = ("docs/tutorial/*.md", "docs/audiences.md", "docs/client.md", "docs/dump.md", "docs/mpet-core.md")


def test_every_command_line_in_the_docs_is_one_that_mpet_knows():
    group = typer.main.get_command(cli.app)
    lines = [
        line
        for pattern in DOCUMENTED
        for path in ROOT.glob(pattern)
        for line in re.findall(r"(?:^ {4}|`)mpet ([a-z][^`\n#]*)", path.read_text(), flags=re.M)
    ]
    assert len(lines) > 30
    for line in lines:
        name, *words = line.split()
        assert name in group.commands, line
        known = {
            option for parameter in group.commands[name].params for option in parameter.opts + parameter.secondary_opts
        }
        own = words[: words.index("./my_program")] if "./my_program" in words else words
        options = {re.sub(r"[^-a-z].*", "", word.strip("[]()")) for word in own if word.strip("[(").startswith("--")}
        assert options <= known | {"--help", "--server", "--token"}, line
