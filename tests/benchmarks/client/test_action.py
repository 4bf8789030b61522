"""The GitHub Action: its steps, as action.yml has them, in a repository with two commits, the second one slower."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from accounts.models import ApiToken
from benchmarks.models import Upload
from tests.benchmarks.client.test_ci_report import Recorder
from tests.benchmarks.kit.kit_build import AS_OTHER_TESTS, need
from tests.conftest import skip_or_fail
from tests.paths import ROOT

pytestmark = [pytest.mark.kit, pytest.mark.lab, pytest.mark.django_db(transaction=True)]
ACTION = ROOT / "action" / "action.yml"
STEP_TIMEOUT_S = 600

# A region that waits `MILLISECONDS` in each thread: its time hardly depends on what else the machine does.
PROGRAM = """#include <time.h>
int main(void) {
#pragma omp parallel
    {
        struct timespec time = {0, MILLISECONDS * 1000000L};
        nanosleep(&time, 0);
    }
    return 0;
}
"""


@dataclass
class Runner:
    """What GitHub gives the steps of a job: files to write to, and variables."""

    folder: Path
    inputs: dict[str, str]
    variables: dict[str, str]
    outputs: dict[tuple[str, str], str] = field(default_factory=dict)
    summary: str = ""

    def run(self, repository: Path, *, only: str | None = None, **variables: str) -> int:
        """Every step in its order until one fails, or one of them alone; its status."""
        action = yaml.safe_load(ACTION.read_text())
        given = {name: str(entry.get("default", "")) for name, entry in action["inputs"].items()} | self.inputs
        for step in action["runs"]["steps"]:
            if only not in (None, step["id"]) or not self.holds(step.get("if"), given):
                continue
            assert step["shell"] == "bash"
            status = self.step(step, given, repository, variables)
            if status:
                return status
        return 0

    def step(self, step: dict, given: dict[str, str], repository: Path, variables: dict[str, str]) -> int:
        output, summary, script = (self.folder / name for name in ("output", "summary", "script.sh"))
        output.write_text("")
        summary.write_text("")
        assert "${{" not in step["run"], "an expression in a script is text of others that the shell executes"
        script.write_text(step["run"])
        environment = {name: self.expand(text, given) for name, text in step["env"].items()}
        files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=repository, env=self.variables | variables | environment | files,
            capture_output=True, text=True, check=False, timeout=STEP_TIMEOUT_S,
        )  # fmt: skip
        self.said = done.stdout + done.stderr
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.outputs[step["id"], name] = value
        self.summary = summary.read_text()
        return done.returncode

    def holds(self, condition: str | None, given: dict[str, str]) -> bool:
        """The one form of condition that the action uses."""
        return condition is None or given[re.fullmatch(r"inputs\.([\w-]+) != ''", condition)[1]] != ""

    def expand(self, text: str, given: dict[str, str]) -> str:
        """The two expressions that the action uses; any other fails the test."""
        text = re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], str(text))
        text = re.sub(r"\$\{\{ steps\.(\w+)\.outputs\.(\w+) \}\}", lambda found: self.outputs[found[1], found[2]], text)
        assert "${{" not in text, text
        return text


def git(repository: Path, *words: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=repository, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path) -> Path:
    """Branch main, and slower, whose commit moves the region down by a line and has it take six times as long."""
    need("git", "gcc", "make", "g++")
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for branch, source in (("main", PROGRAM), ("slower", "/* slower */\n" + PROGRAM)):
        if branch != "main":
            git(folder, "checkout", "--quiet", "-b", branch)
        (folder / "work.c").write_text(source.replace("MILLISECONDS", "40" if branch == "main" else "240"))
        git(folder, "add", "work.c")
        git(folder, "commit", "--quiet", "--message", branch)
    return folder


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Path:
    """Self-hosted: what one job has installed and built, the next one finds."""
    return tmp_path_factory.mktemp("machine")


@pytest.fixture
def runner(machine, media, live_server, alice, wheel) -> Runner:
    token = ApiToken.issue(alice, ApiToken.Scope.UPLOAD)[1]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("MPET", "DJANGO", "PY", "GITHUB"))
    }
    variables = {
        "GITHUB_ACTION_PATH": str(ACTION.parent),
        "RUNNER_TEMP": str(machine),
        "RUNNER_ENVIRONMENT": "self-hosted",
        "RUNNER_NAME": "the cellar",
        "MPET_CONFIG_DIR": str(machine / "config"),
        "MPET_CACHE_DIR": str(machine / "cache"),
        "PIP_NO_COMPILE": "no",  # pip's way to say yes: only what is imported is compiled, then
        **AS_OTHER_TESTS,
    }
    inputs = {
        "server": live_server.url, "token": token, "program": "./work 'an argument'", "n": "1,2", "repeats": "3",
        "client": str(wheel),
    }  # fmt: skip
    return Runner(machine, inputs, kept | variables)


def job(runner: Runner, repository: Path, branch: str, **variables: str) -> int:
    """A job that checks the branch out, builds the program, and uses the action."""
    git(repository, "checkout", "--quiet", branch)
    subprocess.run(["gcc", "-O2", "-g", "-fopenmp", "work.c", "-o", "work"], cwd=repository, check=True)
    commit = git(repository, "rev-parse", "HEAD")
    return runner.run(repository, GITHUB_SHA=commit, **variables)


def test_a_slower_commit_is_told_in_the_summary(runner, repository, live_server):
    assert job(runner, repository, "main", GITHUB_REF_NAME="main") == 0, runner.said
    assert "Nothing to compare with: branch main was not measured on" in runner.summary
    first = Upload.objects.get()
    commit = git(repository, "rev-parse", "main")
    assert (first.visibility, first.branch, first.commit) == ("private", "main", commit)

    pull_request = {"GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": "slower", "GITHUB_BASE_REF": "main"}
    assert job(runner, repository, "slower", **pull_request) == 0, runner.said
    head = Upload.objects.exclude(pk=first.pk).get()
    assert (head.visibility, head.branch, head.owner.username) == ("private", "slower", "alice")
    assert runner.outputs["profile", "upload"] == str(head.uid)
    summary = runner.summary
    now = git(repository, "rev-parse", "slower")
    assert summary.startswith(f"## MPET: slower ({now[:10]}) compared with main ({commit[:10]})\n")
    assert summary.split("**")[1].startswith("Slower beyond noise: work/main:4") and "Before: work/main:3." in summary
    rows = [line.strip("| ").split(" | ") for line in summary.splitlines() if line.startswith(("| 1 |", "| 2 |"))]
    for n, before, after, change, *_ in rows[:2]:
        assert 0.039 < float(before) < 0.12 and 0.239 < float(after) < 0.5, (n, change)
    assert [row[-1] for row in rows[:2]] == ["**slower**"] * 2
    (use,) = re.findall(r"^\| use \| \*\*\+(\d+) %\*\* \| \*\*\+(\d+) %\*\* \|$", summary, flags=re.M)
    assert all(200 < int(share) < 600 for share in use)
    assert f"{live_server.url}/api/v1/uploads/{head.uid}/" in summary

    runner.inputs |= {"fail-if-slower": "true"}
    assert runner.run(repository, only="compare", **pull_request) == 8
    assert "Slower beyond noise" in runner.summary


@pytest.fixture
def benchmarks(runner, tmp_path) -> tuple[Runner, Path]:
    """The Action with benchmarks that write what the files `Parse`, `Same` and `Twin` of the checkout say, nearly."""
    script = 'for name in Parse Same Twin; do echo "Benchmark$name-2 1 $(cat $1/$name).$((RANDOM % 9)) ns/op"; done'
    for checkout, parse in (("head", 1000), ("base", 1000), ("slower", 1300)):
        (tmp_path / checkout).mkdir()
        for name, time in (("Parse", parse), ("Same", 500), ("Twin", 300)):
            (tmp_path / checkout / name).write_text(str(time))
    (tmp_path / "bench.sh").write_text(script)
    runner.inputs = {
        "client": runner.inputs["client"], "command": "bash bench.sh head > out.txt", "format": "go",
        "results": "out.txt", "history": "h.jsonl", "page": "site", "calibration": "0",
    }  # fmt: skip
    return runner, tmp_path


PUSH = {"GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main", "GITHUB_REPOSITORY": "ada/engine"}
PULL = {
    "GITHUB_REF": "refs/pull/7/merge", "GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": "fix",
    "GITHUB_BASE_REF": "main", "GITHUB_REPOSITORY": "ada/engine",
}  # fmt: skip


def test_benchmarks_of_pushes_make_the_history_with_which_pull_requests_are_compared(benchmarks):
    runner, folder = benchmarks
    for number in range(6):
        assert runner.run(folder, GITHUB_SHA=f"c{number}", **PUSH) == 0, runner.said
    history = (folder / "h.jsonl").read_text().splitlines()
    assert len(history) == 6 and '"branch": "main"' in history[0] and '"commit": "c5"' in history[5]
    assert runner.outputs["benchmarks", "slower"] == "false" and "No benchmark changed" in runner.summary
    assert (folder / "site" / "index.html").is_file() and (folder / "site" / "feed.atom").is_file()

    runner.inputs |= {"command": "bash bench.sh slower > out.txt"}
    assert runner.run(folder, only="benchmarks", GITHUB_SHA="c6", **PULL) == 0, runner.said
    assert runner.outputs["benchmarks", "slower"] == "true" and "Slower: BenchmarkParse." in runner.summary
    assert len((folder / "h.jsonl").read_text().splitlines()) == 6, "a pull request is no history yet"
    runner.inputs |= {"fail-if-slower": "true"}
    assert runner.run(folder, only="benchmarks", GITHUB_SHA="c6", **PULL) == 8
    runner.inputs |= {"command": "exit 3"}
    assert runner.run(folder, only="benchmarks", GITHUB_SHA="c6", **PULL) == 3


def test_base_and_head_of_benchmarks_run_in_one_job_and_the_pull_request_gets_a_comment(benchmarks):
    runner, folder = benchmarks
    recorder = Recorder()
    runner.inputs |= {
        "command": "bash bench.sh slower > out.txt", "base-command": "bash bench.sh base > out.txt", "rounds": "3",
        "github-token": "secret", "webhook": f"{recorder.url}/hook", "history": "", "page": "",
    }  # fmt: skip
    pull = PULL | {"GITHUB_API_URL": recorder.url}
    listing = ("GET", "/repos/ada/engine/issues/7/comments?per_page=100&page=1")
    recorder.answers[listing] = []
    assert runner.run(folder, GITHUB_SHA="abc", **pull) == 0, runner.said
    assert runner.outputs["benchmarks", "slower"] == "true" and "in turn on the same machine" in runner.summary
    hook, asked, made = recorder.requests
    assert hook[:2] == ("POST", "/hook") and hook[2]["slower"] and asked[:2] == listing
    assert made[:2] == ("POST", "/repos/ada/engine/issues/7/comments") and made[2]["body"] in runner.summary
    # A fork's token may not write: the summary is there, and the job goes on.
    recorder.status = 403
    assert runner.run(folder, only="benchmarks", GITHUB_SHA="abc", **pull) == 0
    assert "::warning::" in runner.said and "Slower: BenchmarkParse." in runner.summary
    recorder.server.shutdown()


def test_a_wrong_token_fails_the_job_before_anything_is_compared(runner, repository):
    runner.inputs |= {"token": "mpet_wrong", "repeats": "1", "n": "1"}
    assert job(runner, repository, "main", GITHUB_REF_NAME="main") == 5
    assert "compare" not in {step for step, _ in runner.outputs} and Upload.objects.count() == 0
    assert "mpet_wrong" not in runner.said


def test_without_another_client_the_action_installs_its_own(runner, repository, tmp_path):
    runner.inputs |= {"client": ""}
    status = runner.run(repository, only="install", RUNNER_TEMP=str(tmp_path))
    if status and "Could not find a version that satisfies the requirement hatchling" in runner.said:
        skip_or_fail("no package index to build the client with")
    assert status == 0, runner.said
    done = subprocess.run([tmp_path / "mpet-client/bin/mpet", "changes", "--help"], capture_output=True, check=True)
    assert b"--fail-if-slower" in done.stdout
