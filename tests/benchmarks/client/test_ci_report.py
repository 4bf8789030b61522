"""`mpet ci`: what its commands print, write and send."""

import json
import re
import threading
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from mpet import cli
from mpet.ci.commands import LONGEST_COMMENT, post_comment
from mpet.ci.history import Run, Value, append_runs, read_history
from mpet.ci.page import ATOM, atom_feed, history_page, series_of
from mpet.ci.report import MARKER, compare_in_turn, compare_with_history
from mpet.errors import KitFailed, NotAllowed, Unreachable, UsageError
from typer.testing import CliRunner

from tests.benchmarks.client.test_ci_importers import written
from tests.benchmarks.client.test_ci_translation import made_history, slowed

HOSTILE = "</svg><script>alert(1)</script>|*x* `y` @everybody #1 <!-- \x00\x1b[31m\u202e\ud800 ]]>\n| a | b |"
# Prints like `go test -bench`: a benchmark that takes so much, and three that never change.
BENCHMARK = """
import random, sys
factor = float(sys.argv[1])
for _ in range(3):
    print("BenchmarkParse-2 100", 1000 * factor * random.uniform(0.99, 1.01), "ns/op")
    for name in ("Same", "Twin", "Other"):
        print(f"Benchmark{name}-2 100", 500 * random.uniform(0.99, 1.01), "ns/op")
"""


class Recorder:
    """A server that remembers requests and answers as it is told; GitHub's API, or anybody's webhook."""

    def __init__(self):
        self.requests, self.answers, self.status = [], {}, 200
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                sent = json.loads(body) if body else None
                recorder.requests.append((self.command, self.path, sent, self.headers.get("Authorization")))
                answer = recorder.answers.get((self.command, self.path), {"html_url": "https://example.org/c"})
                self.send_response(recorder.status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            do_GET = do_POST = do_PATCH = answer  # noqa: N815

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def recorder():
    started = Recorder()
    yield started
    started.server.shutdown()
    started.server.server_close()


@pytest.fixture(autouse=True)
def outside_of_github(monkeypatch):
    for name in ("SHA", "REF_NAME", "TOKEN", "REPOSITORY", "API_URL"):
        monkeypatch.delenv(f"GITHUB_{name}", raising=False)
    monkeypatch.delenv("MPET_WEBHOOK", raising=False)


def mpet(*words, status=0):
    done = CliRunner().invoke(cli.app, ["ci", *map(str, words)])
    assert done.exit_code == status, (done.output, done.exception)
    return done.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, BENCHMARK, "bench.py")
    return tmp_path


def command(factor):
    return f"python3 bench.py {factor} > out.txt"


@pytest.mark.lab
def test_base_and_head_run_in_turn_in_one_job(folder, recorder):
    words = ("--results", "out.txt", "--as", "go", "--calibration", "0", "--rounds", "4")
    sides = ("--base", command(1), "--head", command(1.1))
    slower = json.loads(mpet("compare", *sides, *words, "--json", "--webhook", recorder.url + "/hook"))
    verdicts = {row["name"]: row["verdict"] for row in slower["benchmarks"]}
    assert verdicts == {f"Benchmark{name}": "" for name in ("Same", "Twin", "Other")} | {"BenchmarkParse": "slower"}
    assert slower["slower"]
    assert recorder.requests == [("POST", "/hook", slower, None)]
    kept_as = ("--fail-if-slower", "--history", "h.jsonl", "--commit", "abc", "--branch", "main")
    failed = mpet("compare", *sides, *words, *kept_as, status=8)
    assert failed.startswith("Slower: BenchmarkParse.")
    (kept,) = read_history(folder / "h.jsonl")
    assert (kept.commit, kept.branch, kept.values["BenchmarkParse"].repeats) == ("abc", "main", 4) and kept.cpu
    assert kept.values["BenchmarkParse"].seconds == pytest.approx(1.1e-6, rel=0.02)
    assert "No benchmark changed" in mpet("compare", "--base", command(1), "--head", command(1), *words, "--markdown")


def test_the_order_of_base_and_head_alternates_and_secrets_stay_outside(folder, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    sides = [f'echo {side} "$GITHUB_TOKEN" >> order; {command(1)}' for side in ("base", "head")]
    compare_in_turn(*sides, folder / "out.txt", "go", rounds=3)
    assert (folder / "order").read_text().split() == ["base", "head", "head", "base", "base", "head"]


def test_a_command_that_fails_or_writes_nothing_is_named(folder):
    written(folder, "stale", "out.txt")
    for words, reason in (("exit 3", "'exit 3' ended with status 3"), ("true", "'true' has not written")):
        with pytest.raises(KitFailed, match=reason):
            compare_in_turn(words, words, folder / "out.txt", "go", rounds=2)
    with pytest.raises(UsageError, match="at least two rounds"):
        compare_in_turn("true", "true", folder / "out.txt", "go", rounds=1)


@pytest.mark.lab
def test_a_history_is_recorded_checked_and_shown(folder, recorder):
    history = folder / "h.jsonl"
    for number in range(6):
        mpet("compare", "--base", command(1), "--head", command(1), "--results", "out.txt", "--as", "go", "--rounds", 2,
             "--history", history, "--calibration", "0", "--commit", f"c{number}", "--branch", "main")  # fmt: skip
    times = {"Parse": 1500, "Same": 500, "Twin": 500, "Other": 500, "New": 5}
    written(folder, "".join(f"Benchmark{name}-2 1 {time} ns/op\n" for name, time in times.items()), "now.txt")
    words = ("now.txt", "--as", "go", "--history", history, "--calibration", "0")
    text = mpet("check", *words, "--base-branch", "main", "--markdown", "--fail-if-slower", status=8)
    assert "**Slower: BenchmarkParse.**" in text and "Not compared (fewer than 5 earlier runs): BenchmarkNew." in text
    assert mpet("check", *words, "--base-branch", "other").startswith(
        "Nothing to compare with: a benchmark needs 5 earlier runs."
    )
    assert len(read_history(history)) == 6
    mpet("check", *words, "--record", "--commit", "c6")
    mpet("record", *words, "--commit", "c7")
    assert [run.commit for run in read_history(history)][-2:] == ["c6", "c7"]
    mpet("page", "--history", history, "--output", folder / "site")
    assert "BenchmarkParse: slower" in (folder / "site" / "feed.atom").read_text()
    page = (folder / "site" / "index.html").read_text()
    assert page.count("<svg ") == 4 and "c6" in page
    # A webhook that does not answer is no reason to fail.
    recorder.status = 500
    mpet("check", *words, "--webhook", recorder.url)


def test_a_history_of_github_action_benchmark_is_recorded_once(tmp_path):
    benches = [{"name": "f", "value": 5, "unit": "ns/iter"}]
    entries = [{"commit": {"id": f"c{day}"}, "date": day * 1e9, "benches": benches} for day in (1, 2)]
    data = written(tmp_path, "window.BENCHMARK_DATA = " + json.dumps({"entries": {"speed": entries}}))
    for _ in range(2):
        mpet("record", data, "--as", "github-action-benchmark", "--history", tmp_path / "h.jsonl")
    assert [(run.commit, run.cpu) for run in read_history(tmp_path / "h.jsonl")] == [("c1", ""), ("c2", "")]


def test_calibrate_prints_the_machine():
    document = json.loads(mpet("calibrate", "--seconds", "0"))
    assert document["machine"]["cpu"] and len(document["calibration"]) == 5


def hostile_history():
    history = []
    for run in made_history(4, runs=20, jump=("parse", 10, 2.0)):
        values = {f"{HOSTILE}{name}": value for name, value in run.values.items()}
        history.append(Run(values, "<b>" + run.commit, run.time, "main", {"cpu": HOSTILE}))
    return history


class Elements(HTMLParser):
    """Elements and attributes of a page; each element that opens also closes, in order."""

    VOID = ("meta", "link", "circle", "line")

    def __init__(self, text):
        super().__init__()
        self.seen, self.open, self.attributes = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.attributes += attributes
        if tag not in self.VOID or (tag == "circle" and not self.get_starttag_text().endswith("/>")):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_requests_nothing_and_escapes_names():
    page = history_page(series_of(hostile_history()), HOSTILE)
    elements = Elements(page)
    allowed = "html head meta title link style body h1 p table caption thead tbody tr th td h2 svg circle line"
    assert {*elements.seen} <= {*allowed.split()} and elements.seen.count("svg") == 4
    assert not [name for name, _ in elements.attributes if name in ("src", "onload", "onerror", "style", "srcset")]
    assert [value for name, value in elements.attributes if name == "href"] == ["feed.atom"]
    assert "default-src 'none'" in page and "url(" not in page and "<script" not in page
    assert re.search(r"<td>\+(9|10)\d(\.\d)? %</td>", page)


def test_the_feed_is_xml_with_an_entry_for_each_change():
    series = series_of(hostile_history())
    feed = ET.fromstring(atom_feed(series, HOSTILE, "https://example.org/benchmarks/"))
    entries = feed.findall(f"{{{ATOM}}}entry")
    assert len(entries) == 1 and "slower" in entries[0].findtext(f"{{{ATOM}}}title")
    for place in (feed, *entries):
        assert place.findtext(f"{{{ATOM}}}id") and re.match(r"\d{4}-\d\d-\d\dT", place.findtext(f"{{{ATOM}}}updated"))
    again = ET.fromstring(atom_feed(series_of(hostile_history()), "other title"))
    assert again.find(f"{{{ATOM}}}entry/{{{ATOM}}}id").text == entries[0].find(f"{{{ATOM}}}id").text
    empty = ET.fromstring(atom_feed([], "none"))
    assert not empty.findall(f"{{{ATOM}}}entry") and empty.findtext(f"{{{ATOM}}}updated")


def test_markdown_of_hostile_names_stays_in_its_cells():
    history = hostile_history()
    text = compare_with_history(history[:-1], slowed(history[-1], 3.0, f"{HOSTILE}parse")).markdown()
    assert text.startswith(MARKER) and len(re.findall(r"(?<!\\)<", text)) == 1 and "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + 4 and all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)
    assert not re.search(r"@\w", text) and "**slower**" in rows[2]


def test_a_comment_is_made_once_and_then_updated(recorder, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_API_URL", recorder.url)
    monkeypatch.setenv("GITHUB_REPOSITORY", "ada/engine")
    path = "/repos/ada/engine/issues/7/comments"
    report = written(tmp_path, f"{MARKER}\n" + "x" * 70_000)
    with pytest.raises(NotAllowed, match="GITHUB_TOKEN"):
        post_comment("ada/engine", 7, "text")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    listing = f"{path}?per_page=100&page=1"
    person = {"id": 1, "body": f"{MARKER} says who?", "user": {"type": "User"}}
    recorder.answers["GET", listing] = [person, {"id": 2, "body": None, "user": None}]
    assert mpet("comment", report, "--pull-request", 7) == "https://example.org/c\n"
    recorder.answers["GET", listing] = [person, {"id": 5, "body": f"{MARKER} before", "user": {"type": "Bot"}}]
    mpet("comment", report, "--pull-request", 7)
    assert [request[:2] for request in recorder.requests] == [
        ("GET", listing), ("POST", path), ("GET", listing), ("PATCH", "/repos/ada/engine/issues/comments/5"),
    ]  # fmt: skip
    assert all(token == "Bearer secret" for *_, token in recorder.requests)
    assert {len(sent["body"]) for _, _, sent, _ in recorder.requests if sent} == {LONGEST_COMMENT}
    mpet("comment", report, "--pull-request", 7, "--repository", "../../user", status=1)
    for status, error in ((403, NotAllowed), (302, Unreachable), (500, Unreachable)):
        recorder.status = status
        with pytest.raises(error, match=str(status)):
            post_comment("ada/engine", 7, "text")


def test_noise_of_the_repeats_counts_too():
    """A head whose own repeats scatter is not slower, however sure the translation is."""
    history = made_history(6)
    head = slowed(history[-1], 1.3, "parse")
    assert "parse" in compare_with_history(history[:-1], head).named("slower")
    value = head.values["parse"]
    head.values["parse"] = Value(value.seconds, value.seconds * 0.5, 3)
    report = compare_with_history(history[:-1], head)
    (row,) = [row for row in report.rows if row.name == "parse"]
    assert row.noise > 0.3 and row.verdict == "" and not report.is_slower


def test_a_change_below_the_least_does_not_count(tmp_path):
    history = made_history(6, noise=0.001)
    head = slowed(history[-1], 1.05, "parse")
    assert compare_with_history(history[:-1], head).named("slower") == ["parse"]
    assert not compare_with_history(history[:-1], head, least=0.1).is_slower
    append_runs(tmp_path / "h.jsonl", history)
    assert read_history(tmp_path / "h.jsonl") == history
