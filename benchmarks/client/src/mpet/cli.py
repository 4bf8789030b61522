"""The command `mpet`. Results are printed to standard output, everything else to standard error.

The exit status is 0 for success, 1 for a failure, 2 for wrong usage, 3 if the server refuses the request, 4 if too
little was measured, 5 if the request is not allowed, 6 if no server answers, 7 if the kit or the program fails, and 8
if the program is slower beyond noise.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import shutil
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from mpet import __version__, tables
from mpet import kit as benchmark_kit
from mpet.changes import LEAST_CHANGE
from mpet.ci.commands import app as ci_app
from mpet.client import Client
from mpet.config import Config, chosen_server, plain_server
from mpet.errors import KitFailed, MpetError, NoPrediction, NotAllowed, NothingToCompare, UsageError
from mpet.login import begin_login, wait_for_token
from mpet.offline import predict_offline
from mpet.results import ForeignFile, UploadReport, grouped_warnings
from mpet.summary import changes_markdown, markdown_cell, name_of
from mpet.sweep import Machine, Sweep, is_there, merge, newest_kit_results, read_machine, sweep_tarball

app = typer.Typer(no_args_is_help=True, help="Measure parallel programs and predict how they run on other machines.")
app.add_typer(ci_app, name="ci")
out, err = Console(), Console(stderr=True)
# Arguments after the program belong to the program.
PROGRAM = "PROGRAM [ARGS]..."
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}

JSON = typer.Option(False, "--json", help="Print the response of the API as JSON.")
PUBLIC = typer.Option(False, "--public/--private", help="Make the results readable by everybody, or by you only.")
LICENCE = typer.Option(None, help="Licence of the results: CC BY 4.0, CC0, ODbL.")
NAME = typer.Option(None, help="Name of this machine; default: its host name.")
OUTPUT = typer.Option(None, dir_okay=False, help="Output file of the results; default: a file in the current folder.")
ACCEPT_EXIT = typer.Option(
    None, "--accept-exit", help="Exit status of the program to accept as success in addition to 0; repeatable."
)
WORKLOAD_HELP = "Workload: its name, or the slug in the URL of its page."
TARGET_HELP = "Machine: its name, or the slug in the URL of its page."
GZIP_MAGIC = b"\x1f\x8b"
ROWS_OF_TRIAL = 3
# The workloads of the kit that describe a machine best. docs/accuracy/mpet-try.md evaluates the choice.
TRIAL_WORKLOADS = (
    "hog fft nbody srad spmv edge_pipeline matmul_blocked mandelbrot_dynamic sgm jacobi shared_histogram sparselu"
)
COMMIT = typer.Option(None, help="Commit of the measured program; visible to you only.")
BRANCH = typer.Option(None, help="Branch of the commit; `mpet changes` compares branches.")


@dataclass
class Connection:
    """The options before the command: the server and the token."""

    server: Optional[str] = None
    token: Optional[str] = None

    def client(self) -> Client:
        return Client(self.server, self.token, said=_say)

    def measuring_client(self, upload: bool) -> Client:
        """Return the client of a command that measures. Raise NotAllowed if its upload would be refused afterwards for
        lack of a token or its scope."""
        client = self.client()
        if upload and not client.has_token:
            raise NotAllowed("the results cannot be uploaded without a token; use mpet login, --token or --no-upload")
        if upload:
            client.require_upload_scope()
        return client


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mpet {__version__}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    server: Optional[str] = typer.Option(
        None, help="URL of the server; default: MPET_SERVER, or the server of the last login."
    ),
    token: Optional[str] = typer.Option(
        None,
        help="API token; default: MPET_TOKEN, or the token of the login. Other users of this machine can "
        "read this option.",
    ),
    version: bool = typer.Option(
        False, "--version", callback=print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    "Measure parallel programs and predict how they run on other machines."
    context.obj = Connection(server, token)


@contextlib.contextmanager
def progress_of(what: str) -> Iterator[Any]:
    """Show a progress bar on standard error while the server computes. Yield the function `advance(done, total)`."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(what, total=None)

        def advance(done: int, total: Optional[int]) -> None:
            progress.update(task, completed=done, total=total)

        yield advance


def print_json(document: Any) -> None:
    is_utf8 = sys.stdout.encoding.lower() == "utf-8"
    sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=not is_utf8) + "\n")


def assignments(texts: list[str]) -> dict[str, str]:
    """Return the values by name of arguments `NAME=VALUE`. Raise UsageError if an argument has another form.

    >>> assignments(["n_ht=16", "lock_delay=0.5"])
    {'n_ht': '16', 'lock_delay': '0.5'}
    """
    pairs = [text.partition("=") for text in texts]
    for text, (name, equals, _) in zip(texts, pairs):
        if not name or not equals:
            raise UsageError(f"{text!r} is not NAME=VALUE")
    return {name: value for name, _, value in pairs}


def numbers_of_threads(text: Optional[str]) -> Optional[list[int]]:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--n {text}: expected thread counts such as 1,2,4") from error


def results_file(output: Optional[Path], program: str) -> Path:
    """Return the output file, by default a new one in the current folder. Raise UsageError if its folder does not
    exist, because the results would be lost after the measurement."""
    path = output or Path(f"mpet-{program.replace('/', '-')}-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz")
    if not path.parent.is_dir():
        raise UsageError(f"--output {path}: the folder {path.parent} does not exist")
    return path


def profiler_options(given: Mapping[str, Any], accepted: Optional[list[int]]) -> list[str]:
    """Return the options that have a value, as command-line arguments of mpet-profile."""
    pairs = [pair for pair in given.items() if pair[1] is not None]
    pairs += [("--accept-exit", status) for status in accepted or ()]
    return [part for option, value in pairs for part in (option, str(value))]


@app.command()
def login(
    context: typer.Context,
    server: Optional[str] = typer.Option(None, help="URL of the server, which is also used by later commands."),
    no_browser: bool = typer.Option(
        False, "--no-browser", help="Print the URL of the login page instead of opening it."
    ),
) -> None:
    """Sign in with a browser and store the token, or store the token that --token gives."""
    connection: Connection = context.obj
    server = chosen_server(server or connection.server)
    token = connection.token
    if token is None:
        token = _token_of_browser(Client(server, token, said=_say), no_browser)
    username = Client(server, token).account()["username"]
    config = Config.load()
    config.server = server
    config.tokens[server] = token
    err.print(f"signed in to {server} as {username}; token stored in {config.save()}", markup=False, soft_wrap=True)


def _token_of_browser(client: Client, no_browser: bool) -> str:
    """Return the token that the user grants on a page of the server, in a browser on any machine."""
    begun = begin_login(client.transport)
    _say(f"Type the code {begun['code']} on {begun['url']}")
    if not no_browser:
        webbrowser.open(begun["url"])
    with progress_of("waiting for your confirmation"):
        return wait_for_token(client.transport, begun)


@app.command()
def logout(context: typer.Context) -> None:
    """Delete the stored token of a server. It stays valid until you revoke it on the page of your tokens."""
    server = plain_server(chosen_server(context.obj.server))
    config = Config.load()
    if config.tokens.pop(server, None) is None:
        raise NotAllowed(f"no token is stored for {server}")
    config.save()


@app.command()
def measure(
    context: typer.Context,
    full: bool = typer.Option(
        False, help="Measure all thread counts with three repeats, instead of a short run of one or two minutes."
    ),
    workloads: Optional[str] = typer.Option(None, help="Workloads to measure, such as 'hog sgm'."),
    threads: Optional[str] = typer.Option(None, help="Thread counts to measure, such as 1,2,4."),
    name: Optional[str] = NAME,
    upload: bool = typer.Option(True, help="Upload the results."),
    public: bool = PUBLIC,
    licence: Optional[str] = LICENCE,
    as_json: bool = JSON,
) -> None:
    """Measure this machine with the benchmark kit of the server, and upload the results."""
    client = context.obj.measuring_client(upload)
    given = {"WORKLOADS": workloads, "THREADS": threads, "NAME": name}
    options = {variable: value for variable, value in given.items() if value}
    folder = benchmark_kit.unpack_kit(client.kit())
    tarball = benchmark_kit.measure(folder, "all" if full else "quick", options, _say)
    _finish(client, tarball, upload, as_json, public=public, licence=licence)


@app.command(context_settings=PASSED_ON)
def profile(
    context: typer.Context,
    program: str = typer.Argument(..., metavar=PROGRAM, help="OpenMP program, followed by its arguments."),
    n: Optional[str] = typer.Option(None, help="Thread counts, such as 1,2,4-8."),
    repeats: Optional[int] = typer.Option(None, help="Number of runs per pass and thread count."),
    accept_exit: Optional[list[int]] = ACCEPT_EXIT,
    application: Optional[str] = typer.Option(None, help="Name of the program; default: its file name."),
    name: Optional[str] = NAME,
    output: Optional[Path] = OUTPUT,
    upload: bool = typer.Option(True, help="Upload the results."),
    public: bool = PUBLIC,
    licence: Optional[str] = LICENCE,
    commit: Optional[str] = COMMIT,
    branch: Optional[str] = BRANCH,
    as_json: bool = JSON,
) -> None:
    """Measure an OpenMP program of your own with the kit's mpet-profile, and upload the results."""
    client = context.obj.measuring_client(upload)
    given = {"--n": n, "--repeats": repeats, "--application": application, "--name": name}
    options = profiler_options(given, accept_exit)
    path = results_file(output, Path(program).name)
    folder = benchmark_kit.unpack_kit(client.kit())
    command = [str(Path(program).resolve()) if Path(program).exists() else program, *context.args]
    benchmark_kit.profile(folder, command, path, options, _say)
    _finish(client, path, upload, as_json, public=public, licence=licence, commit=commit, branch=branch)


def _say(line: str, hidden: str = "") -> None:
    err.print(line.replace(hidden, "") if hidden else line, markup=False, highlight=False, soft_wrap=True)


def _foreign_file(form: Optional[str], platform: Optional[str], columns: Optional[list[str]]) -> Optional[ForeignFile]:
    """Return how to read a file of another tool, or None for a results tarball. `platform` is a file if it ends in
    .json, else a slug."""
    if form is None:
        if platform or columns:
            raise UsageError("--platform and --map need --as FORMAT; a results tarball already names its machine")
        return None
    titles = assignments(columns or [])
    if platform is None or not platform.endswith(".json"):
        return ForeignFile(form, platform, columns=titles)
    return ForeignFile(form, platform_json=Path(platform).read_text(encoding="utf-8"), columns=titles)


def _finish(client: Client, tarball: Path, upload: bool, as_json: bool, **options: Any) -> None:
    _say(f"results: {tarball}")
    if upload:
        _tell_upload(_sent(client, tarball, **options), as_json)
    elif as_json:
        print_json({"results": str(tarball)})


def _sent(client: Client, path: Path, **options: Any) -> UploadReport:
    """Upload a file with the options of Client.upload, and return its report."""
    with progress_of("sending") as progress:
        return client.upload(path, progress=progress, **options)


def _tell_upload(report: UploadReport, as_json: bool) -> None:
    print_json(report.document) if as_json else tables.print_upload(out, report)
    if not report.is_accepted:
        raise typer.Exit(3)


@app.command(context_settings=PASSED_ON)
def sweep(
    context: typer.Context,
    program: str = typer.Argument(
        ...,
        metavar=PROGRAM,
        help="Multithreaded program with its arguments; `{n}` in them is replaced by the thread count.",
    ),
    n: Optional[str] = typer.Option(
        None, help="Thread counts, such as 1,2,4; default: a few counts up to all threads."
    ),
    env: Optional[list[str]] = typer.Option(
        None, "--env", help="Environment variable of the program, such as NAME={n}; repeatable."
    ),
    repeats: int = typer.Option(3, min=1, help="Number of runs per thread count."),
    accept_exit: Optional[list[int]] = ACCEPT_EXIT,
    longest: float = typer.Option(600.0, min=1.0, help="Time limit of one run, in seconds."),
    application: Optional[str] = typer.Option(None, help="Name of the program; default: its file name."),
    name: Optional[str] = NAME,
    output: Optional[Path] = OUTPUT,
    upload: bool = typer.Option(True, help="Upload the results."),
    public: bool = PUBLIC,
    licence: Optional[str] = LICENCE,
    as_json: bool = JSON,
) -> None:
    """Time a multithreaded program in any language at several numbers of threads, and upload the results."""
    client = context.obj.measuring_client(upload)
    measured = Sweep(
        [is_there(program), *context.args], assignments(env or []), repeats, (0, *(accept_exit or ())), longest
    )
    called = application or Path(program).name
    path = results_file(output, called)
    machine = read_machine(benchmark_kit.unpack_kit(client.kit()), name, _say)
    rows = measured.measure(machine, numbers_of_threads(n) or machine.counts, _say)
    sweep_tarball(machine, measured, rows, called, path)
    _say(f"results: {path}")
    if upload:
        _show_program(client, _accepted(client, path, public=public, licence=licence), as_json)
    elif as_json:
        print_json({"results": str(path)})


@app.command("try", context_settings=PASSED_ON)
def try_program(
    context: typer.Context,
    program: str = typer.Argument(..., metavar=PROGRAM, help="Your program, followed by its arguments."),
    anonymous: bool = typer.Option(
        False, help="Upload without an account. The report has a secret URL and is deleted later."
    ),
    server: Optional[str] = typer.Option(None, help="URL of the server; default as for all commands."),
    n: Optional[str] = typer.Option(None, help="Thread counts, such as 1,2,4."),
    accept_exit: Optional[list[int]] = ACCEPT_EXIT,
    application: Optional[str] = typer.Option(None, help="Name of the program; default: its file name."),
    name: Optional[str] = NAME,
    as_json: bool = JSON,
) -> None:
    """Measure a program, and this machine if the server has no results of it, and show how the program runs elsewhere.

    An OpenMP program is profiled region by region. Any other program is timed as a whole.
    """
    connection: Connection = context.obj
    client = Client(server or connection.server, connection.token, said=_say)
    anonymous = anonymous or not client.has_token
    if not anonymous:
        client.require_upload_scope()
    kit = benchmark_kit.unpack_kit(client.kit())
    machine = read_machine(kit, name, _say)
    called = application or Path(program).name
    with tempfile.TemporaryDirectory() as folder:
        measured = Path(folder) / f"mpet-{called}.tar.gz"
        command = [is_there(program), *context.args]
        given = {"--name": machine.platform["name"], "--application": called, "--n": n}
        try:
            said = functools.partial(_say, hidden=f" in {measured.resolve()}")
            benchmark_kit.profile(kit, command, measured, profiler_options(given, accept_exit), said)
        except KitFailed as error:
            if error.status != benchmark_kit.NOT_PROFILABLE:
                raise
            _say("its regions cannot be profiled, so the program is timed as a whole")
            whole = Sweep(command, {}, accepted=(0, *(accept_exit or ())))
            rows = whole.measure(machine, numbers_of_threads(n) or machine.counts, _say)
            sweep_tarball(machine, whole, rows, called, measured)
        try:
            if anonymous or not client.knows_machine(machine.platform):
                measured = merge(_kit_results(kit, machine), measured, Path(folder) / f"mpet-{called}-and-kit.tar.gz")
            sent = _sent_trial(client, measured, anonymous)
        except (MpetError, KeyboardInterrupt):
            _keep_trial(client, measured, called, anonymous)
            raise
        if anonymous:
            answer = {"upload": sent["url"], "program": called, "url": sent["page"]}
            until = f"They are deleted on {sent['expires_at'][:10]} unless you claim them there with an account."
            text = f"{called}: {sent['page']}\nAnyone with this link can see the results. {until}"
            print_json(answer) if as_json else _say(text)
            return
        _show_program(client, sent, as_json)


def _sent_trial(client: Client, measured: Path, anonymous: bool) -> Any:
    """Upload the results of a trial. Return the document of an anonymous upload, else the report of the upload."""
    if not anonymous:
        return _accepted(client, measured)
    with progress_of("sending") as progress:
        return client.upload_anonymously(measured, progress)


def _keep_trial(client: Client, measured: Path, called: str, anonymous: bool) -> None:
    """Copy the results from the temporary folder to the current one, because sending them failed."""
    with contextlib.suppress(OSError):  # the error of sending is more important
        path = shutil.copy(measured, results_file(None, called))
        how = f"{client.server}/upload/without-account/" if anonymous else f"mpet upload {path}"
        _say(f"the results are kept in {path}; to send them again: {how}")


def _kit_results(kit: Path, machine: Machine) -> Path:
    """Return the newest results of the kit on this machine from the kit's folder. Measure new ones if there are
    none."""
    found = newest_kit_results(kit, machine.platform)
    if found is None:
        _say("measuring this machine once with twelve workloads of the kit")
        options = {"NAME": str(machine.platform["name"]), "WORKLOADS": TRIAL_WORKLOADS}
        found = benchmark_kit.measure(kit, "quick", options, _say)
    return found


def _accepted(client: Client, path: Path, **options: Any) -> UploadReport:
    report = _sent(client, path, **options)
    if not report.is_accepted:
        tables.print_upload(err, report)
        raise typer.Exit(3)
    return report


def _show_program(client: Client, report: UploadReport, as_json: bool) -> None:
    """Print the page of the uploaded program, and the machines on which it is the fastest."""
    program, page = client.page_of_upload(report)
    if as_json:
        print_json({"upload": report.id, "program": program, "url": page})
        return
    for warning in grouped_warnings(report.warnings):
        _say(warning)
    try:
        with progress_of("predicting") as progress:
            ranking = client.rank_page(page, progress, exact="false")  # all rows of a large fleet take minutes
        tables.print_ranking(out, ranking, ROWS_OF_TRIAL, "time")
    except NoPrediction as error:
        _say(str(error))
    out.print(page, markup=False, soft_wrap=True)


@app.command()
def upload(
    context: typer.Context,
    file: Path = typer.Argument(..., exists=True, dir_okay=False, help="Results tarball, or file of another tool."),
    form: Optional[str] = typer.Option(
        None, "--as", help="Format of a file of another tool, such as hyperfine or csv."
    ),
    platform: Optional[str] = typer.Option(
        None, help="Machine of the file, for --as: slug of a known machine, or path of a platform.json."
    ),
    columns: Optional[list[str]] = typer.Option(
        None, "--map", help="Column of a CSV for a field, such as n=Threads; repeatable."
    ),
    preview: bool = typer.Option(False, help="Show the result of the upload without storing anything."),
    public: bool = PUBLIC,
    licence: Optional[str] = LICENCE,
    commit: Optional[str] = COMMIT,
    branch: Optional[str] = BRANCH,
    as_json: bool = JSON,
) -> None:
    """Upload results that the kit or another tool has measured before."""
    foreign = _foreign_file(form, platform, columns)
    with file.open("rb") as content:
        is_tarball = content.read(2) == GZIP_MAGIC
    if foreign is None and not is_tarball:
        _say(f"{file} is not a results tarball. For a file of another tool, name its format: --as FORMAT")
    client = context.obj.client()
    if preview:
        understood = client.preview(file, foreign)
        print_json(understood.document) if as_json else tables.print_preview(out, understood)
        if understood.errors:
            raise typer.Exit(3)
        return
    options = {"public": public, "licence": licence, "commit": commit, "branch": branch, "foreign": foreign}
    _tell_upload(_sent(client, file, **options), as_json)


@app.command()
def predict(
    context: typer.Context,
    workload: str = typer.Argument(..., help=WORKLOAD_HELP),
    target: str = typer.Argument(..., help=TARGET_HELP),
    reference: Optional[list[str]] = typer.Option(
        None, help="Use only this machine's measurements of the workload; repeatable."
    ),
    method: Optional[str] = typer.Option(None, help="Prediction method; default: mpet."),
    n: Optional[str] = typer.Option(None, help="Thread counts, such as 1,2,4."),
    data: Optional[Path] = typer.Option(
        None, file_okay=False, help="Folder of a public dump to predict from, without a server."
    ),
    explain: bool = typer.Option(False, help="Also show what limits the workload; takes longer."),
    as_json: bool = JSON,
) -> None:
    """Predict how a workload runs on a machine."""
    question: dict[str, Any] = {"references": reference or None, "method": method, "n": numbers_of_threads(n)}
    if data is None:
        answer = context.obj.client().predict(workload, target, **question, explain=explain or None)
    else:
        answer = predict_offline(data, workload, target, **question)
    print_json(answer.document) if as_json else tables.print_prediction(out, answer)


@app.command()
def advise(
    context: typer.Context,
    workload: str = typer.Argument(..., help=WORKLOAD_HELP),
    target: str = typer.Argument(..., help=TARGET_HELP),
    as_json: bool = JSON,
) -> None:
    """Recommend a number of threads for a workload on a machine, and show what using all threads would lose."""
    advice = context.obj.client().advise(workload, target)
    print_json(advice) if as_json else tables.print_advice(out, advice)


@app.command("what-if")
def what_if(
    context: typer.Context,
    workload: str = typer.Argument(..., help=WORKLOAD_HELP),
    target: str = typer.Argument(..., help=TARGET_HELP),
    changes: list[str] = typer.Argument(..., help="Changes to apply, such as lock_delay=0.5 n_max=64."),
    measured: bool = typer.Option(
        False, "--measured", help="Change the times measured on the machine instead of a prediction."
    ),
    as_json: bool = JSON,
) -> None:
    """Predict with changed characteristics of the workload or facts of the machine."""
    given = assignments(changes) | ({"measured": True} if measured else {})
    answer = context.obj.client().what_if(workload, target, **given)
    print_json(answer.document) if as_json else tables.print_prediction(out, answer)


@app.command()
def rank(
    context: typer.Context,
    workload: str = typer.Argument(..., help=WORKLOAD_HELP),
    where: Optional[list[str]] = typer.Option(None, help="Filter of the machines, such as min_cores=16; repeatable."),
    n: Optional[int] = typer.Option(None, help="Compare at this thread count."),
    by: Optional[str] = typer.Option(None, help="Sort order: time, core_time, or cost (per run)."),
    max_price: Optional[float] = typer.Option(
        None, min=0.0, help="Maximum price per hour. Machines without a known price are excluded."
    ),
    max_cost: Optional[float] = typer.Option(None, min=0.0, help="Maximum cost of one run."),
    currency: Optional[str] = typer.Option(
        None, help="Currency of the prices, such as USD; default: the most frequent one."
    ),
    limit: int = typer.Option(20, min=1, help="Number of rows to show."),
    as_json: bool = JSON,
) -> None:
    """Predict a workload on every machine, and list the fastest first, or the cheapest within a budget."""
    choice: dict[str, Any] = dict(assignments(where or []))
    given = {"n": n, "by": by, "max_price": max_price, "max_cost": max_cost, "currency": currency}
    choice.update({name: value for name, value in given.items() if value is not None})
    with progress_of("ranking") as progress:
        ranking = context.obj.client().rank(workload, progress=progress, **choice)
    print_json(ranking.document) if as_json else tables.print_ranking(
        out, ranking, limit, str(choice.get("by", "time"))
    )


@app.command()
def compare(
    context: typer.Context,
    kind: str = typer.Argument(..., help="platforms (machines) or workloads"),
    names: list[str] = typer.Argument(..., help="Two to six platforms or workloads."),
    on: Optional[str] = typer.Option(None, help="Machine on which workloads are compared."),
    as_json: bool = JSON,
) -> None:
    """Compare measured machines or workloads."""
    choice = {"on": on} if on else {}
    with progress_of("comparing") as progress:
        comparison = context.obj.client().compare(kind, names, progress=progress, **choice)
    print_json(comparison.document) if as_json else tables.print_comparison(out, comparison)


@app.command()
def changes(
    context: typer.Context,
    head: str = typer.Argument(..., help="ID of an upload."),
    base: Optional[str] = typer.Argument(None, help="ID of the upload to compare with."),
    base_branch: Optional[str] = typer.Option(None, help="Compare with this branch's newest upload from this machine."),
    least: float = typer.Option(LEAST_CHANGE, min=0.0, help="Smallest relative change to report; 0.02 is 2 %."),
    fail_if_slower: bool = typer.Option(False, help="Exit with status 8 if t(n) increased beyond noise."),
    markdown: bool = typer.Option(False, help="Print Markdown for the job summary of a CI system."),
    as_json: bool = JSON,
) -> None:
    """Compare t(n) and the seven parts of a program's regions with an earlier upload, and mark changes beyond noise."""
    client = context.obj.client()
    try:
        with progress_of("comparing"):
            found = client.changes(head, base, base_branch=base_branch, least=least)
    except NothingToCompare as error:
        if markdown:
            name = markdown_cell(name_of(client.upload_report(head).document))
            sys.stdout.write(f"## MPET: {name}\n\nNothing to compare with: {markdown_cell(error)}\n")
        raise
    if markdown:
        sys.stdout.write(changes_markdown(found))
    else:
        print_json(found.document) if as_json else tables.print_changes(out, found)
    if fail_if_slower and found.is_slower:
        raise typer.Exit(8)


@app.command()
def watch(
    context: typer.Context,
    upload_or_workload: str = typer.Argument(..., help="ID of an upload, or a workload."),
    target: Optional[str] = typer.Argument(None, help="Machine, if a workload is given."),
    every: float = typer.Option(60.0, min=0.1, help="Seconds between two requests."),
    times: Optional[int] = typer.Option(None, min=1, help="Maximum number of requests."),
    as_json: bool = JSON,
) -> None:
    """Wait until an upload is read, or print a prediction each time new data changes it."""
    client = context.obj.client()
    if target is None:
        with progress_of("waiting") as progress:
            _tell_upload(client.follow(client.upload_report(upload_or_workload), progress), as_json)
        return
    before: Any = None
    requests = 0
    while times is None or requests < times:
        if requests:
            time.sleep(every)
        answer = client.what_if(upload_or_workload, target)
        requests += 1
        if answer.document["curve"] != before:
            before = answer.document["curve"]
            print_json(answer.document) if as_json else tables.print_prediction(out, answer)


@app.command()
def export(
    context: typer.Context,
    folder: Path = typer.Argument(..., help="Output folder, which must be empty or not exist yet."),
    form: str = typer.Option("csv", "--format", help="Format of the dump: csv, parquet or sqlite."),
    as_json: bool = JSON,
) -> None:
    """Download all public data as a dump, to work with it or to predict without a server."""
    with progress_of("fetching"):
        revision = context.obj.client().export(folder, form)
    if as_json:
        print_json({"folder": str(folder), "format": form, "revision": revision})
    else:
        out.print(f"revision {revision} in {folder}", markup=False, highlight=False)


def main() -> None:
    """Run the command. Print an error as a message instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal has the characters of the interval bars
    try:
        app()
    except (MpetError, OSError) as error:
        err.print(f"mpet: {error}", markup=False, highlight=False, soft_wrap=True)
        raise SystemExit(error.exit_code if isinstance(error, MpetError) else 1) from None


if __name__ == "__main__":
    main()
