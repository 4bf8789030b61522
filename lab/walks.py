"""Tracing of the files that one prediction, one upload and one ranking page pass, as listed in docs/architecture.md.

`make figures` traces the three on the samples of the tests, in a database in memory, and writes the lists. The first
call of each fills the caches of the process and is not counted.
"""

from __future__ import annotations

import ast
import io
import os
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import IO, Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
APPLICATIONS = ("accounts", "benchmarks", "mpet_site", "operations", "predictor", "profiles")
PACKAGES = tuple(f"{ROOT / application}{os.sep}" for application in APPLICATIONS)


@dataclass
class Trace:
    """The files that were passed, by path, with the names of their functions in the order of the calls."""

    files: dict[str, list[str]] = field(default_factory=dict)

    def note(self, code: CodeType) -> None:
        # Lambdas and comprehensions are left out, because readers cannot look them up by name.
        path = code.co_filename.removeprefix(f"{ROOT}{os.sep}")
        names = self.files.setdefault(path, [])
        if code.co_name not in names and code.co_name.isidentifier():
            names.append(code.co_name)


@contextmanager
def traced(below: CodeType | None = None) -> Iterator[Trace]:
    """Collect the product functions that are called in the block. With `below`, only during calls of that function."""
    trace, depth = Trace(), 0

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal depth
        code = frame.f_code
        if code is below:
            depth += {"call": 1, "return": -1}.get(event, 0)
        # The code of a module runs when it is first imported, which is not part of a prediction.
        is_ours = code.co_filename.startswith(PACKAGES) and code.co_name != "<module>"
        if event == "call" and is_ours and (below is None or depth > 0):
            trace.note(code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@contextmanager
def sample_site() -> Iterator[None]:
    """Set up Django with a database in memory that has the measurements of 4 platforms and 6 workloads."""
    import django  # noqa: PLC0415
    from django.test.runner import DiscoverRunner  # noqa: PLC0415

    django.setup()
    from profiles.ingest.service import ingest  # noqa: PLC0415
    from tests.samples import sample_measurements  # noqa: PLC0415

    runner = DiscoverRunner(verbosity=0)
    runner.setup_test_environment()
    databases = runner.setup_databases()
    try:
        ingest(sample_measurements(4, 6), kind="tarball", label="sample", sha256="0" * 64, owner=None, private=False)
        yield
    finally:
        runner.teardown_databases(databases)
        runner.teardown_test_environment()


def trace_second(ask: Callable[[int], Any], below: CodeType | None = None) -> Trace:
    """Trace the second of two calls. Each call gets its number, so that it can request something not stored yet."""
    ask(0)
    with traced(below) as trace:
        ask(1)
    return trace


def trace_walks() -> dict[str, Trace]:
    """Return the three walks of docs/architecture.md by name, and the parts of them that the figures count."""
    with sample_site():
        return trace_predictions() | {"upload": trace_upload(), "ranking": trace_ranking()}


def trace_predictions() -> dict[str, Trace]:
    """Trace a prediction that is stored over the API with a token, the service alone, and the default method alone."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    from accounts.models import ApiToken  # noqa: PLC0415
    from predictor.core.methods import predict_from_quiet_profiles  # noqa: PLC0415
    from predictor.predictions.question import PredictionRequest  # noqa: PLC0415
    from predictor.predictions.service import predict  # noqa: PLC0415

    user = get_user_model().objects.create_user("ada")
    _, token = ApiToken.issue(user)
    client = Client(headers={"authorization": f"Bearer {token}"})
    workloads, target = ("app0-section0", "app0-section1"), "machine-1"

    def ask_api(number: int) -> None:
        question = {"workload": workloads[number], "target": target}
        answer = client.post("/api/v1/predictions/", question, content_type="application/json")
        if answer.status_code != 201:
            raise RuntimeError(answer.content)

    def ask_service(number: int) -> None:
        predict(PredictionRequest(workload=workloads[number], target="machine-2"))

    def ask_method(number: int) -> None:
        predict(PredictionRequest(workload=workloads[number], target="machine-3"))

    return {
        "prediction": trace_second(ask_api),
        "service": trace_second(ask_service),
        "method": trace_second(ask_method, predict_from_quiet_profiles.__code__),
    }


def trace_upload() -> Trace:
    """Trace the processing of a received tarball, including the code that otherwise runs in the reading process."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from benchmarks import child_reader, processing  # noqa: PLC0415
    from benchmarks.archive.writing import write_archive  # noqa: PLC0415
    from benchmarks.models import Upload  # noqa: PLC0415
    from benchmarks.services import keep_tarball  # noqa: PLC0415
    from profiles.ingest.service import delivered  # noqa: PLC0415
    from tests.samples import sample_measurements  # noqa: PLC0415

    owner = get_user_model().objects.create_user("grace")

    def read_here(question: IO[bytes], answer: IO[bytes], _seconds: float) -> None:
        answer.write(pickle.dumps(child_reader._answer_to(question), protocol=5))

    def receive(number: int) -> Upload:
        packed = io.BytesIO()
        write_archive(packed, sample_measurements(1, 2 + number), created=timezone.now())
        packed.seek(0)
        return keep_tarball(packed, owner, Upload.Visibility.PUBLIC, "results.tar.gz")

    received = [receive(0), receive(1)]
    # Receivers of `delivered` are disabled: they call the default method, which is a walk of its own.
    with mock.patch("benchmarks.reading._run_process", read_here), mock.patch.object(delivered, "receivers", []):
        trace = trace_second(lambda number: processing.process(received[number]))
    if Upload.objects.exclude(status=Upload.Status.ACCEPTED).exists():
        raise RuntimeError([upload.report for upload in received])
    return trace


def trace_ranking() -> Trace:
    """Trace the page that ranks the measured platforms of one workload."""
    from django.test import Client  # noqa: PLC0415

    def show(number: int) -> None:
        answer = Client().get("/ranking/", {"workload": f"app1-section{number}"})
        if answer.status_code != 200:
            raise RuntimeError(answer.content)

    return trace_second(show)


def purpose_of(path: str) -> str:
    """Return the first sentence of a module's docstring, without its full stop."""
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""
    return re.split(r"(?<=\.)\s(?=[A-Z])", " ".join(docstring.split()), maxsplit=1)[0].removesuffix(".")


def walk_table(trace: Trace) -> str:
    """Return the Markdown table of the files, in the order of the calls, with first function and purpose of each."""
    rows = [
        f"| {number} | `{path}` | `{names[0]}` | {purpose_of(path)} |"
        for number, (path, names) in enumerate(((path, names or ["-"]) for path, names in trace.files.items()), start=1)
    ]
    return "\n".join(["| | file | enters at | what it is for |", "|---|---|---|---|", *rows])


def markers(name: str) -> tuple[str, str]:
    return f"<!-- files of one {name}: written by make figures -->", f"<!-- end of the files of one {name} -->"


def with_walks(page: str, walks: dict[str, Trace]) -> str:
    """Return the page with each table between its markers. The files of the default method have a separate table."""
    method = walks["method"].files
    for name, trace in walks.items():
        shown = trace if name == "method" else Trace({k: v for k, v in trace.files.items() if k not in method})
        begin, end = markers(name)
        if begin in page:
            text = f"{begin}\n\n{walk_table(shown)}\n\n{end}"
            page = re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _, text=text: text, page, flags=re.S)
    return page


def files_in_page(page: str, name: str) -> list[str]:
    """Return the files that the page lists for a walk."""
    begin, end = markers(name)
    return re.findall(r"^\| \d+ \| `([^`]+)`", page.partition(begin)[2].partition(end)[0], flags=re.M)
