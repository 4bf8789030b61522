"""The commands `mpet ci ...`, for the GitHub Action and for any other CI."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

import httpx
import typer

from mpet.changes import LEAST_CHANGE
from mpet.ci import calibration as kernels
from mpet.ci.history import Run, append_runs, cpu_model, read_history
from mpet.ci.importers import READERS, read_results, read_run
from mpet.ci.page import atom_feed, history_page, series_of
from mpet.ci.report import MARKER, Report, compare_in_turn, compare_with_history, mean_of_rounds
from mpet.errors import MpetError, NotAllowed, Unreachable, UsageError

app = typer.Typer(no_args_is_help=True, help="Run benchmarks in CI: keep a history and compare commits across CPUs.")

FORM = typer.Option(..., "--as", help=f"Format of the results: {', '.join(READERS)}.")
HISTORY = typer.Option(..., help="History file in JSON Lines format.")
COMMIT = typer.Option("", envvar="GITHUB_SHA", help="Commit of the measured code.")
BRANCH = typer.Option("", envvar="GITHUB_REF_NAME", help="Branch of the commit.")
LEAST = typer.Option(LEAST_CHANGE, min=0.0, help="Smallest relative change to report; 0.02 is 2 %.")
FAIL = typer.Option(False, help="Exit with status 8 if a benchmark is slower beyond noise.")
MARKDOWN = typer.Option(False, help="Print the report as Markdown, for a job summary or a comment.")
JSON = typer.Option(False, "--json", help="Print the report as JSON.")
WEBHOOK = typer.Option(None, envvar="MPET_WEBHOOK", help="Also send the report as JSON to this URL.")
CALIBRATE = typer.Option(
    kernels.SECONDS, "--calibration", min=0.0, help="Duration of the calibration in seconds; 0 = no calibration."
)
REPOSITORY_NAME = re.compile(r"[\w.-]+/[\w.-]+")
TIMEOUT_S = 30.0
MOST_PAGES = 20
LONGEST_COMMENT = 60_000  # GitHub refuses more than 65,536 characters


def described(run: Run, commit: str, branch: str, calibrate_s: float) -> Run:
    """Return the run with the current time and with the CPU, commit, branch and calibration of this job. If the results
    name a CPU, commit or branch, these are kept."""
    machine = {"cpu": cpu_model(), **run.machine}
    calibration = kernels.calibrate(calibrate_s) if calibrate_s else {}
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return replace(
        run,
        commit=run.commit or commit,
        branch=run.branch or branch,
        time=now,
        machine=machine,
        calibration=calibration,
    )


def send(method: str, url: str, **options: Any) -> httpx.Response:
    """Send a request and return the response. Raise an MpetError if the response is an error. No redirect is followed,
    because the request carries a token."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not a URL with http:// or https://")
    try:
        response = httpx.request(method, url, timeout=TIMEOUT_S, **options)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Unreachable(f"{url} cannot be reached: {error}") from error
    if response.status_code in (401, 403):
        raise NotAllowed(f"{url} answers {response.status_code}: the token lacks the permission")
    if response.status_code >= 300:
        raise Unreachable(f"{url} answers {response.status_code}")
    return response


def post_comment(repository: str, pull_request: int, text: str, token: Optional[str] = None) -> str:
    """Update the comment of an earlier run, or create a comment. Return its address.

    The token is that of GITHUB_TOKEN unless it is given. The server is that of GITHUB_API_URL.
    """
    token = token or os.environ.get("GITHUB_TOKEN")
    if not token:
        raise NotAllowed("set GITHUB_TOKEN to a token that may write to pull requests")
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    comments = f"{api}/repos/{repository}/issues/{pull_request}/comments"
    body = {"body": text[:LONGEST_COMMENT]}
    for page in range(1, MOST_PAGES + 1):
        found = send("GET", comments, headers=headers, params={"per_page": 100, "page": page}).json()
        for comment in found:
            # Anyone can write the marker, but only the comment of a bot can be from this action.
            if str(comment.get("body", "")).startswith(MARKER) and comment.get("user", {}).get("type") == "Bot":
                url = f"{api}/repos/{repository}/issues/comments/{int(comment['id'])}"
                return str(send("PATCH", url, headers=headers, json=body).json().get("html_url", ""))
        if len(found) < 100:
            break
    return str(send("POST", comments, headers=headers, json=body).json().get("html_url", ""))


def _finish(report: Report, markdown: bool, as_json: bool, webhook: Optional[str], fail: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(report.document, indent=1) + "\n")
    else:
        sys.stdout.write(report.markdown() if markdown else _plain(report))
    if webhook:
        try:
            send("POST", webhook, json=report.document)
        except MpetError as error:  # the report is complete, so that a failed webhook does not fail the job
            sys.stderr.write(f"mpet: the report was not sent to the webhook: {error}\n")
    if fail and report.is_slower:
        raise typer.Exit(8)


def _plain(report: Report) -> str:
    lines = [report.headline]
    for row in report.rows:
        name = "".join(character if character.isprintable() else " " for character in row.name)
        limit = max(row.noise, row.interval)
        lines.append(f"{row.relative:+8.1%}  noise {limit:6.1%}  {row.verdict:6}  {name}")
    return "\n".join([*lines, report.how, ""])


@app.command()
def calibrate(seconds: float = typer.Option(kernels.SECONDS, min=0.0, help="Duration in seconds.")) -> None:
    """Print the current speed of this machine as JSON: seconds of kernels that no commit changes."""
    document: dict[str, Any] = {"machine": {"cpu": cpu_model()}, "calibration": kernels.calibrate(seconds)}
    sys.stdout.write(json.dumps(document, indent=1) + "\n")


@app.command()
def record(
    results: Path = typer.Argument(..., exists=True, help="File of results, or the folder of criterion."),
    form: str = FORM,
    history: Path = HISTORY,
    commit: str = COMMIT,
    branch: str = BRANCH,
    calibrate_s: float = CALIBRATE,
) -> None:
    """Append the results to the history, with this machine's CPU and calibration."""
    runs = read_results(results, form)
    if form == "github-action-benchmark":  # these runs are from other days and machines
        known = {(run.commit, run.time) for run in read_history(history)}
        append_runs(history, [run for run in runs if (run.commit, run.time) not in known])
    else:
        append_runs(history, [described(run, commit, branch, calibrate_s) for run in runs])


@app.command()
def check(
    results: Path = typer.Argument(..., exists=True, help="File of results, or the folder of criterion."),
    form: str = FORM,
    history: Path = HISTORY,
    base_branch: str = typer.Option("", help="Compare only with runs of this branch and runs without a branch."),
    commit: str = COMMIT,
    branch: str = BRANCH,
    calibrate_s: float = CALIBRATE,
    record_run: bool = typer.Option(False, "--record", help="Append the run to the history afterwards."),
    least: float = LEAST,
    fail_if_slower: bool = FAIL,
    markdown: bool = MARKDOWN,
    as_json: bool = JSON,
    webhook: Optional[str] = WEBHOOK,
) -> None:
    """Compare results with the history, translated to this machine if earlier runs were on other machines."""
    head = described(read_run(results, form), commit, branch, calibrate_s)
    known = [run for run in read_history(history) if not base_branch or run.branch in ("", base_branch)]
    report = compare_with_history(known, head, least)
    if record_run:
        append_runs(history, [head])
    _finish(report, markdown, as_json, webhook, fail_if_slower)


@app.command()
def compare(
    base: str = typer.Option(..., help="Command that runs the benchmarks of the base."),
    head: str = typer.Option(..., help="Command that runs the benchmarks of the head."),
    results: Path = typer.Option(
        ..., help="File, or folder of criterion, that both commands write. It is removed before each run."
    ),
    form: str = FORM,
    rounds: int = typer.Option(5, min=2, max=100, help="Number of alternating runs of base and head."),
    history: Optional[Path] = typer.Option(None, help="Append the results of the head to this history."),
    commit: str = COMMIT,
    branch: str = BRANCH,
    calibrate_s: float = CALIBRATE,
    least: float = LEAST,
    fail_if_slower: bool = FAIL,
    markdown: bool = MARKDOWN,
    as_json: bool = JSON,
    webhook: Optional[str] = WEBHOOK,
) -> None:
    """Run base and head in turn on this machine and compare them. No other machine is involved."""
    report, runs = compare_in_turn(base, head, results, form, rounds=rounds, least=least)
    report = replace(report, head=report.head or commit)
    if history is not None:
        append_runs(history, [described(mean_of_rounds(runs), commit, branch, calibrate_s)])
    _finish(report, markdown, as_json, webhook, fail_if_slower)


@app.command()
def comment(
    report: Path = typer.Argument(..., exists=True, dir_okay=False, help="Report file printed by --markdown."),
    pull_request: int = typer.Option(..., help="Number of the GitHub pull request."),
    repository: str = typer.Option(..., envvar="GITHUB_REPOSITORY", help="GitHub repository, as OWNER/NAME."),
) -> None:
    """Post a report as a comment on a pull request, or update the comment of an earlier run. The token is
    GITHUB_TOKEN."""
    if not REPOSITORY_NAME.fullmatch(repository):
        raise UsageError(f"{repository!r} is not OWNER/NAME")
    sys.stdout.write(post_comment(repository, pull_request, report.read_text(encoding="utf-8")) + "\n")


@app.command()
def page(
    history: Path = HISTORY,
    output: Path = typer.Option(Path("benchmarks"), file_okay=False, help="Output folder of index.html and feed.atom."),
    title: str = typer.Option("", help="Title of the page and the feed; default: the repository."),
    link: str = typer.Option("", help="URL of the published page, for the feed."),
    branch: str = typer.Option("", help="Show only runs of this branch and runs without a branch."),
) -> None:
    """Write the history as a page with its change points, and the change points as a feed."""
    runs = [run for run in read_history(history) if not branch or run.branch in ("", branch)]
    title = title or f"Benchmarks of {os.environ.get('GITHUB_REPOSITORY') or history.name}"
    series = series_of(runs)
    output.mkdir(parents=True, exist_ok=True)
    (output / "index.html").write_text(history_page(series, title), encoding="utf-8", errors="replace")
    (output / "feed.atom").write_text(atom_feed(series, title, link), encoding="utf-8", errors="replace")
