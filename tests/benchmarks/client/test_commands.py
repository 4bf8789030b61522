"""Every command against a live server: what it prints, as a table and as JSON, and with which status it ends."""

import datetime
import io
import json
import os
import re
import subprocess
import sys

import pandas as pd
import pytest
import typer
from mpet import Client, Ranking, cli, tables
from mpet.config import Config
from mpet.errors import NoPrediction
from mpet.results import UploadReport
from mpet.transport import Transport
from rich.console import Console

from accounts import device_logins
from accounts.models import ApiToken
from benchmarks.formats import FORMATS
from benchmarks.models import Upload
from profiles.dump.published import publish_dump
from profiles.models import Platform, Price
from tests.benchmarks.client.conftest import PROJECT
from tests.benchmarks.formats.test_formats import CSV_COLUMNS, FILES, SPECIMENS
from tests.benchmarks.uploads import tarball
from tests.paths import ROOT

pytestmark = pytest.mark.django_db(transaction=True)
WORKLOAD, TARGET = "app1-section1", "machine-2"
PRICE = {"per": "hour", "region": "us", "kind": "on-demand", "source": "x", "date": datetime.date(2026, 1, 31)}


def test_predict(mpet, client):
    status, text, _ = mpet("predict", WORKLOAD, TARGET, "--json")
    document = json.loads(text)
    assert status == 0
    assert client.get(document["url"]).json()["curve"] == document["curve"]
    status, text, _ = mpet("predict", WORKLOAD, TARGET, "--n", "1,16", "--reference", "machine-0")
    assert status == 0 and "speedup" in text and f"{WORKLOAD} on {TARGET}" in text
    page = text.split()[-1]
    assert "/api/" not in page and client.get(page).status_code == 200


def test_rank_compare_and_what_if(mpet):
    status, text, _ = mpet("rank", WORKLOAD, "--where", "min_cores=2", "--n", "4", "--json")
    assert status == 0 and len(json.loads(text)["results"]) == 4
    status, text, _ = mpet("rank", WORKLOAD, "--limit", "2")
    assert "4 machines, fastest first" in text and "2 more: use --limit" in text
    status, text, _ = mpet("compare", "platforms", "machine-0", "machine-1", "--json")
    assert status == 0 and json.loads(text)
    status, text, _ = mpet("compare", "platforms", "machine-0", "machine-1")
    assert status == 0 and "mean_speed" in text and "compared_whole" not in text
    assert "machine-1: 6 workloads compared as whole machines, 0 at an equal n only" in text
    before = json.loads(mpet("what-if", WORKLOAD, TARGET, "work=1", "--json")[1])
    after = json.loads(mpet("what-if", WORKLOAD, TARGET, "work=2", "--json")[1])
    assert 1.8 < after["t1_s"] / before["t1_s"] < 2.2


def test_what_if_shows_the_change_and_the_baseline(mpet):
    document = json.loads(mpet("what-if", WORKLOAD, TARGET, "work=2", "--json")[1])
    status, text, _ = mpet("what-if", WORKLOAD, TARGET, "work=2")
    assert status == 0
    words = " ".join(text.split())
    assert document["changes"][0] in words
    assert "baseline" in words and "change" in words
    assert f"{document['baseline'][0]['time_s']:.2g}" in words
    assert re.search(r"\+9\d(\.\d)? %|\+10\d(\.\d)? %", words)
    assert "baseline" not in mpet("predict", WORKLOAD, TARGET)[1]


def test_what_if_can_change_the_measured_times(mpet):
    document = json.loads(mpet("what-if", WORKLOAD, TARGET, "work=2", "--measured", "--json")[1])
    assert document["references"] == [TARGET]
    assert document["changes"][0].startswith("based on the times measured on")
    assert document["curve"][0].get("low_s") is None


def test_rank_by_cost_says_that_no_price_is_known(mpet):
    status, text, _ = mpet("rank", WORKLOAD, "--by", "cost")
    assert status == 0
    assert "4 machines, fastest first: no price of these machines is known" in " ".join(text.split())
    assert "cheapest" not in text


def test_rank_by_cost_is_of_so_many_runs_that_it_is_no_tiny_number(mpet):
    for platform in Platform.objects.all():
        Price.objects.create(platform=platform, amount="0.36", currency="USD", **PRICE)
    text = mpet("rank", WORKLOAD, "--by", "cost")[1]
    words = " ".join(text.split())
    assert "cheapest first" in words and "USD per million runs" in words
    assert not re.search(r"\de-\d", words)
    assert "●" in text  # the interval, as the pages draw it


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
    status, text, message = mpet("upload", broken, "--public")
    assert status == 3 and "rejected" in text and "gzip" in text and "None" not in text
    assert "name its format: --as FORMAT" in message


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
    status, _, message = mpet("export", tmp_path / "dump", server="http://127.0.0.1:1")
    assert status == 2 and "not an empty folder" in message  # before anything is requested


@pytest.mark.parametrize("method", ["mpet", "mpet2020", "ridge"])
def test_the_times_at_an_n_are_the_same_whichever_others_are_asked(mpet, tmp_path, settings, client, method):
    """Over the API, by the client, on the page and without a server."""
    settings.STATE_DIR = tmp_path / "state"
    publish_dump()
    mpet("export", tmp_path / "dump", "--format", "sqlite")
    question = {"workload": WORKLOAD, "target": TARGET, "method": method}

    def answers(n):
        numbers = ",".join(map(str, n))
        command = ("predict", WORKLOAD, TARGET, "--method", method, "--n", numbers, "--json")
        posted = client.post("/api/v1/predictions/", question | {"n": n}, content_type="application/json").json()
        page = client.get("/predictions/answer/", question | {"n": numbers}).context["answer"]
        documents = (posted, page, json.loads(mpet(*command)[1]))
        return (*documents, json.loads(mpet(*command, "--data", tmp_path / "dump")[1]))

    def times(answer, n):
        at_n = (point for point in answer["curve"] if point["n"] == n)
        return [point[name] for point in at_n for name in ("time_s", "low_s", "high_s") if point[name] is not None]

    alone = times(answers([3])[0], 3)
    for n in ([3], [1, 3, 7, 16], [2, 3]):
        for answer in answers(n):
            assert times(answer, 3) == pytest.approx(alone, rel=1e-9)


def test_predict_explains_where_it_is_asked(mpet):
    explained = json.loads(mpet("predict", WORKLOAD, TARGET, "--explain", "--json")[1])
    assert "why" not in json.loads(mpet("predict", WORKLOAD, TARGET, "--json")[1])
    status, text, _ = mpet("predict", WORKLOAD, TARGET, "--explain")
    assert status == 0
    assert explained["why"]["sentences"][0][:30] in text


def test_watch_prints_an_answer_once_until_it_changes(mpet):
    status, text, _ = mpet("watch", WORKLOAD, TARGET, "--every", "0.1", "--times", "3")
    assert status == 0 and text.count(f"{WORKLOAD} on {TARGET}") == 1


STATUSES = [
    (("predict", WORKLOAD, TARGET, "--n", "one"), 2, "expected thread counts such as 1,2,4"),
    (("what-if", WORKLOAD, TARGET, "work"), 2, "NAME=VALUE"),
    (("predict",), 2, "Missing argument"),
    (("predict", "no-such", TARGET), 3, "no-such"),
    (("rank", WORKLOAD, "--where", "shoes=8"), 3, "shoes"),
    (("profile", "--output", "no/r.gz", "true"), 2, "mpet: --output no/r.gz: the folder no does not exist"),
    (("sweep", "--output", "no/r.gz", "true"), 2, "mpet: --output no/r.gz: the folder no does not exist"),
    (("sweep", "--output", ".", "true"), 2, "File '.' is a directory."),
]


@pytest.mark.parametrize(("words", "expected", "reason"), STATUSES)
def test_the_status_says_what_went_wrong(mpet, words, expected, reason):
    status, text, message = mpet(*words)
    assert (status, text) == (expected, "")
    assert reason in message


def test_a_refused_prediction_has_a_status_of_its_own_and_advice(mpet, monkeypatch):
    monkeypatch.setitem(Transport.__init__.__kwdefaults__, "sleep", lambda _seconds: None)  # between two attempts
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


@pytest.fixture
def browser(monkeypatch, client, alice):
    """The person at the browser: types the code that is said, and answers, while the client sleeps between two
    questions."""
    client.force_login(alice)
    opened, said = [], []
    monkeypatch.setattr(cli.webbrowser, "open", opened.append)
    monkeypatch.setattr(cli, "_say", said.append)

    def answer(word):
        def sleep(_seconds):
            code = re.search(r"code (\S+) on", said[0])[1]
            return client.post("/accounts/device/", {"code": code, "answer": word})

        monkeypatch.setitem(Transport.__init__.__kwdefaults__, "sleep", sleep)
        return opened, said

    return answer


def test_login_is_confirmed_in_the_browser(server, mpet, browser, monkeypatch):
    opened, said = browser("agree")
    monkeypatch.setenv("MPET_SERVER", "http://elsewhere.example")
    status, text, message = mpet("login", "--server", server, server=None, token=None)
    assert (status, text) == (0, "") and "as alice" in message
    assert opened == [f"{server}/accounts/device/"] and said[0].endswith(opened[0])
    token = Config.load().tokens[server]
    assert token not in message and ApiToken.objects.filter(name__startswith="mpet on ", scope="upload").count() == 1
    monkeypatch.delenv("MPET_SERVER")
    assert Client().account()["username"] == "alice"


def test_a_login_that_is_refused_or_not_answered_keeps_nothing(mpet, browser, monkeypatch):
    opened, _ = browser("deny")
    status, _, message = mpet("login", "--no-browser", token=None)
    assert status == 5 and "refused" in message and opened == []
    browser("later")
    monkeypatch.setattr(device_logins, "LOGIN_LIFETIME", datetime.timedelta(seconds=0))
    status, _, message = mpet("login", token=None)
    assert status == 5 and "mpet login again" in message
    assert Config.load().tokens == {}


def test_rank_by_cost_within_a_budget(mpet):
    for slug, amount in (("machine-0", "9.00"), ("machine-1", "0.10"), ("machine-3", "0.50")):
        Price.objects.create(platform=Platform.objects.get(slug=slug), amount=amount, currency="EUR", **PRICE)
    status, text, _ = mpet("rank", WORKLOAD, "--by", "cost", "--max-price", "1", "--json")
    rows = json.loads(text)["results"]
    assert status == 0 and {row["price"] for row in rows} == {0.1, 0.5}
    assert [float(row["cost"]) for row in rows] == sorted(float(row["cost"]) for row in rows)
    status, text, _ = mpet("rank", WORKLOAD, "--by", "cost", "--max-price", "1", "--currency", "EUR")
    assert status == 0 and "2 machines, cheapest first" in text and "2026-01-31" in text
    text = mpet("rank", WORKLOAD)[1]
    assert "4 machines, fastest first" in text
    assert mpet("rank", WORKLOAD, "--max-price", "-1")[0] == 2


def test_a_ranking_without_a_place_says_why(mpet):
    status, text, message = mpet("rank", WORKLOAD, "--max-price", "0.01")
    assert (status, text) == (4, "") and "no machine can be ranked\n  only machines with a known price" in message
    summary = [{"lacks": "benchmark", "count": 15, "reason": "no other workload was measured there"}]
    ranking = Ranking({"results": [], "refused_summary": summary, "advice": "run `make quick`"})
    told = ["15 machines not ranked: no other workload was measured there", "run `make quick`"]
    assert ranking.refusals == told
    console = Console(file=io.StringIO(), record=True, width=120)
    tables.print_ranking(console, ranking, 20, "time")
    printed = console.export_text()
    assert all(line in printed for line in told)


def test_one_machine_without_a_place_is_not_called_machines():
    summary = [{"lacks": "benchmark", "count": 1, "reason": "no other workload was measured there"}]
    ranking = Ranking({"results": [], "refused_summary": summary})
    assert ranking.refusals == ["1 machine not ranked: no other workload was measured there"]


def test_a_title_is_one_line_and_keeps_its_brackets():
    console = Console(file=io.StringIO(), record=True, width=120)
    tables.print_table(console, "a long title of [two] columns", ["n", "t"], [[1, 2.0]])
    assert console.export_text().splitlines()[0] == "a long title of [two] columns"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_breaks_no_number(width):
    names = ["n", "time in s", "low", "high", tables.BAR_TITLE, "speedup", "efficiency"]
    rows = [[16, 0.178, 0.141, 0.224, "━━●━", 6.36, 0.398]]
    console = Console(file=io.StringIO(), record=True, width=width)
    tables.print_table(console, "", names, rows)
    line = console.export_text().splitlines()[-1].split()
    bar = ["━━●━"] if width == 80 else []
    assert line == ["16", "0.178", "0.141", "0.224", *bar, "6.36", "0.398"]


def test_warnings_of_one_kind_are_one_line():
    console = Console(file=io.StringIO(), record=True, width=120)
    tables.print_errors(console, [], [f"{name}: fewer than 3 repeats: 1 at n = 1" for name in ("fft", "hog", "sgm")])
    assert console.export_text() == "  warning: fft: fewer than 3 repeats: 1 at n = 1 (and 2 similar warnings)\n"


def test_a_terminal_without_the_characters_of_the_bars_shows_the_table():
    program = (
        "from mpet import cli, tables\ncli.app = lambda: tables.print_table(cli.out, '', ['n'], [['━●']])\ncli.main()"
    )
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(PROJECT / "src")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, [b"n", b"??"])


def test_a_file_of_another_tool_is_shown_and_sent(mpet, tmp_path):
    machine = tmp_path / "machine.json"
    machine.write_text('{"name": "laptop", "cpu_model": "ACME 1000", "threads": 8}')
    foreign = ("upload", SPECIMENS / "hyperfine-1.15.0.json", "--as", "hyperfine", "--platform", machine)
    status, text, _ = mpet(*foreign, "--preview")
    assert status == 0 and "preview of the upload for laptop" in text and not Upload.objects.exists()
    shown = json.loads(mpet(*foreign, "--preview", "--json")[1])
    assert shown["workloads"][0]["n"] == [1, 2]
    status, text, _ = mpet(*foreign, "--json")
    assert status == 0 and json.loads(text)["status"] == "accepted"
    upload = Upload.objects.get()
    assert (upload.form, upload.visibility) == ("hyperfine", "private")


@pytest.mark.parametrize("form", FORMATS)
def test_files_of_every_format_are_understood(mpet, tmp_path, form):
    file = SPECIMENS / FILES[form][0]
    mapped = [word for name, title in CSV_COLUMNS.items() for word in ("--map", f"{name}={title}")]
    words = ("upload", file, "--as", form, "--platform", "machine-0", *(mapped if form == "csv" else ()), "--preview")
    status, text, _ = mpet(*words, "--json")
    assert status == 0 and json.loads(text)["workloads"], text
    assert not Upload.objects.exists()


def test_the_columns_of_a_table_are_mapped(mpet, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("Benchmark,Threads,Milliseconds\nsort,1,80\nsort,2,41\n")
    mapped = ("--map", "workload=Benchmark", "--map", "n=Threads", "--map", "time_ms=Milliseconds")
    words = ("upload", table, "--as", "csv", "--platform", "machine-0")
    preview = json.loads(mpet(*words, *mapped, "--preview", "--json")[1])
    assert preview["workloads"][0]["time_s"] == [0.08, 0.041]
    status, text, _ = mpet(*words, "--preview")
    assert status == 3 and "table.csv" in text
    assert mpet(*words, "--as", "no-such-tool")[0] == 3
    assert mpet("upload", table, "--map", "n=Threads")[0] == 2


def test_as_a_library(server, token, tmp_path):
    with Client(server, token) as client:
        prediction = client.predict(WORKLOAD, TARGET)
        assert isinstance(prediction.curve, pd.DataFrame)
        assert prediction.curve["time_s"].tolist() == [point.time_s for point in prediction.points]
        assert prediction.best.time_s == prediction.curve["time_s"].min()
        assert f"{WORKLOAD} on {TARGET}" in prediction._repr_html_()
        ranking = client.rank(WORKLOAD)
        assert ranking.platforms == ranking.frame["platform"].tolist() and len(ranking) == 4
        assert "<table>" in ranking._repr_html_()
        compared = client.compare("platforms", ["machine-0", "machine-1"])
        assert len(compared.frame) == 2 and "machine-1" in compared._repr_html_()
        path = tmp_path / "night.tar.gz"
        path.write_bytes(tarball())
        preview, report = client.preview(path), client.upload(path)
        assert len(preview.frame) == preview._repr_html_().count("<tr>") - 1 > 2
        assert "accepted, 2 profiles" in report._repr_html_()


def test_completion_and_help_need_no_server(mpet):
    asking = ("predict", "rank", "compare", "what-if", "watch")
    for command in ("measure", "profile", "upload", *asking, "login", "logout"):
        status, text, _ = mpet(command, "--help")
        assert status == 0 and "Usage" in text, command
        assert f"mpet {command}" in (ROOT / "docs" / "client.md").read_text()


DOCUMENTED = [f"docs/{page}.md" for page in ("tutorial/*", "audiences/*", "client*", "dump", "mpet-core", "ci")]


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
        command = group.commands[name]
        if "commands" in vars(command):  # a group, such as `mpet ci`
            assert words[0] in command.commands, line
            command = command.commands[words[0]]
        known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
        own = words[: next((place for place, word in enumerate(words) if word in ("./my_program", "--")), len(words))]
        options = {re.sub(r"[^-a-z].*", "", word.strip("[]()")) for word in own if word.strip("[(").startswith("--")}
        assert options <= known | {"--help"}, line


def test_advise_prints_the_number_of_threads_and_what_to_type(mpet):
    status, text, _ = mpet("advise", WORKLOAD, TARGET, "--json")
    advice = json.loads(text)
    assert status == 0 and advice["all_threads"]["loss"] >= 0
    status, text, _ = mpet("advise", WORKLOAD, TARGET)
    assert status == 0
    assert text.startswith(f"{advice['n']} threads: ")
    assert f"export OMP_NUM_THREADS={advice['n']} OMP_PLACES=" in " ".join(text.split())
    assert advice["reasons"][0] in text
    assert mpet("advise", WORKLOAD, "nowhere")[0] == 3


def test_a_program_that_no_machine_can_run_has_no_empty_table(server, token, monkeypatch):
    document = {"results": [], "refused_summary": [{"lacks": None, "count": 1, "reason": "measured here only"}]}
    monkeypatch.setattr(Transport, "json", lambda *given, **options: document)
    with pytest.raises(NoPrediction, match="no machine can be ranked\n  1 machine not ranked: measured here only"):
        Client(server, token).rank_page(f"{server}/programs/1/sort/")


def test_after_an_upload_only_the_fastest_machines_are_computed(server, token, monkeypatch, capsys):
    """All rows of a fleet of thousands take minutes, and three are shown."""
    asked = []

    def answer(self, method, address, *given, params=None, **options):
        asked.append((address, params))
        return {"results": [], "refused_summary": []}

    monkeypatch.setattr(Transport, "json", answer)
    report = UploadReport(
        {"id": "1", "status": "accepted", "programs": [{"name": "sort", "url": f"{server}/programs/1/sort/"}]}
    )
    cli._show_program(Client(server, token), report, as_json=False)
    assert asked == [("programs/1/sort/", {"exact": "false"})]
    assert f"{server}/programs/1/sort/" in capsys.readouterr().out
