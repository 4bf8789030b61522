"""Sending of mutations, and the checks after each: row counts, reasons, time, no server error."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from django.apps import apps
from django.contrib.auth.models import User
from django.core.signals import got_request_exception
from django.test import Client

from benchmarks.models import Upload
from benchmarks.reading import UNEXPECTED
from lab.hostile.load import Client as Connection
from lab.hostile.mutations import API, Known, Mutation, Sent, mutation
from predictor.models import Prediction
from profiles.models import Platform, Profile, Workload

HANGS_AFTER_S = 120
WHOLE_MEMBER = re.compile(  # reasons that concern a CSV file as a whole, so that they have no line
    r"missing|is larger|UTF-8|UTF-16|sha256|bytes, |columns?\b|no good row|no row|not listed|twice|path|not a plain"
    r"|folder|empty|members?\b|is not CSV|more than \d+ (?:runs|workloads)|is mapped"
)
IN_MEMBER = {"tarball: json", "tarball: cells", "tarball: topology"}
DEFECTS = (b"internal error", UNEXPECTED.encode())  # texts of responses to an error of the server
LOOKED_AT = 5  # number of addresses to visit after each accepted upload


@dataclass(frozen=True)
class Answered:
    status: int
    body: bytes
    content_type: str
    seconds: float
    peak_bytes: int = 0
    error: str = ""  # the end of the traceback, if known


@dataclass(frozen=True)
class Failure:
    what: str
    where: str
    detail: str


class Sender(Protocol):
    signs_in_to_pages: bool

    def __call__(self, sent: Sent) -> Answered: ...


@dataclass
class Figures:
    """The counts and extremes of a campaign."""

    families: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    largest: list[tuple[int, str]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    requests: int = 0

    def note(self, what: str, answer: Answered) -> None:
        self.requests += 1
        self.slowest = sorted([*self.slowest, (answer.seconds, what)], reverse=True)[:5]
        self.largest = sorted([*self.largest, (answer.peak_bytes, what)], reverse=True)[:5]


class InProcess:
    """A sender that calls Django in this process. Seconds are processor time, including the reading processes."""

    signs_in_to_pages = True

    def __init__(self, user: Any, secret: str) -> None:

        self.user, self.secret = user, secret
        self.error = ""
        self._note = lambda **kwargs: self._remember()
        got_request_exception.connect(self._note)

    def _remember(self) -> None:
        self.error = self.error or traceback.format_exc(limit=-4)

    def __call__(self, sent: Sent) -> Answered:
        client, headers = Client(raise_request_exception=False), dict(sent.headers)
        if sent.signed and sent.path.startswith(API):
            headers["Authorization"] = f"Bearer {self.secret}"
        elif sent.signed:
            client.force_login(self.user)
        self.error, before = "", _reset_peak()
        start = _processor_seconds()
        with _alarm(HANGS_AFTER_S):
            response = client.generic(sent.method, sent.path, sent.body, sent.content_type, headers=headers)
            body = b"".join(response.streaming_content) if response.streaming else response.content
        seconds = _processor_seconds() - start
        error = self.error if response.status_code >= 500 else ""
        kind = response.headers.get("Content-Type", "")
        return Answered(response.status_code, body, kind, seconds, max(0, _peak() - before), error)


class Live:
    """A sender that calls a server. Seconds are elapsed time, and pages are requested without a session."""

    signs_in_to_pages = False

    def __init__(self, url: str, secret: str) -> None:

        self.client, self.token = Connection(url), Connection(url, secret)

    def __call__(self, sent: Sent) -> Answered:
        client = self.token if sent.signed and sent.path.startswith(API) else self.client
        start = time.perf_counter()
        try:
            status, body, kind = client.exchange(sent.method, sent.path, sent.body, sent.content_type, sent.headers)
        except OSError as error:
            status, body, kind = 599, repr(error).encode(), "connection"
        return Answered(status, body, kind, time.perf_counter() - start)


def _processor_seconds() -> float:
    """Return the processor time of this process and of the child processes that it waited for."""
    return sum(os.times()[:4])


def _reset_peak() -> int:
    """Reset the peak memory if the system supports it, and return the bytes in memory now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return status_bytes("VmRSS")


def _peak() -> int:
    return status_bytes("VmHWM")


def status_bytes(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"no response within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# The server itself adds rows to these: it evaluates its data after the start, and computes results for its pages.
COMPUTED = ("Computation", "Evaluation", "EvaluatedMethod")


def stored_counts() -> dict[str, int]:
    """Return the number of rows of every table that users fill, and of accepted and unfinished uploads."""
    own = ("profiles", "predictor", "accounts")
    models = [
        model for name in own for model in apps.get_app_config(name).get_models() if model.__name__ not in COMPUTED
    ]
    counts = {model.__name__: model._default_manager.count() for model in models}
    finished = ("accepted", "rejected")
    return counts | {
        "User": User.objects.count(),
        "accepted uploads": Upload.objects.filter(status="accepted").count(),
        "unfinished uploads": Upload.objects.exclude(status__in=finished).count(),
    }


def known_names() -> Known:
    """Return the public slugs and identifiers."""
    seen = [model.objects.visible_to(None).order_by("pk") for model in (Platform, Workload)]
    platforms, workloads = (list(rows.values_list("slug", flat=True)[:40]) for rows in seen)
    profiles = Profile.objects.visible_to(None).order_by("pk").values_list("uid", flat=True)[:200]
    predictions = Prediction.objects.visible_to(None).order_by("pk").values_list("uid", flat=True)[:20]
    return Known(platforms, workloads, list(map(str, profiles)), list(map(str, predictions)))


class Campaign:
    """A series of mutations, sent one after another. Each failed check is recorded as a Failure."""

    def __init__(
        self, send: Sender, known: Known, seed: int, slow_s: float, make: Callable[..., Mutation] = mutation
    ) -> None:
        self.send, self.known, self.seed, self.slow_s, self.make = send, known, seed, slow_s, make
        self.figures = Figures()
        self.counts = stored_counts()

    def run(self, numbers: Iterable[int]) -> Figures:
        for number in numbers:
            self.one(self.make(self.seed, number, self.known))
        return self.figures

    def one(self, mutated: Mutation) -> str:
        """Send a mutation, check its effects, and return its outcome."""
        answer = self.ask(mutated.sent, str(mutated))
        counts, before = stored_counts(), self.counts
        self.counts = counts
        outcome, report = outcome_of(mutated.sent, answer)
        self.figures.families[mutated.family, outcome] += 1
        if outcome != "accepted" and counts != before:
            changed = {name: (before.get(name), count) for name, count in counts.items() if before.get(name) != count}
            self.fail("counts changed", mutated, str(changed))
        if counts["unfinished uploads"]:
            self.fail("unfinished", mutated, "an upload is neither accepted nor rejected")
        if outcome == "refused":
            self.check_reason(mutated, answer, report)
        if report and outcome == "accepted":
            self.look_at(mutated, report)
        return outcome

    def ask(self, sent: Sent, what: str) -> Answered:
        answer = self.send(sent)
        self.figures.note(what, answer)
        if answer.status >= 500:
            self.fail(f"{answer.status}", what, answer.error or answer.body[:300].decode(errors="replace"))
        elif any(words in answer.body for words in DEFECTS):
            self.fail("internal error", what, answer.body[:300].decode(errors="replace"))
        if answer.seconds > self.slow_s:
            self.fail("slow", what, f"{answer.seconds:.1f} s")
        return answer

    def fail(self, what: str, where: object, detail: str) -> None:
        self.figures.failures.append(Failure(what, str(where), detail))

    def check_reason(self, mutated: Mutation, answer: Answered, report: dict[str, Any]) -> None:
        """Check that a refused tarball has reasons with member and line, and other API responses a problem document."""
        sent, problem = mutated.sent, answer.content_type.startswith("application/problem")
        if not report:
            if sent.path.startswith(API) and sent.method != "HEAD" and not problem:
                self.fail("no problem document", mutated, f"{answer.status} {answer.content_type}")
            return
        errors = report["report"]["errors"]
        if not errors:
            self.fail("no reason", mutated, "the report lists no error")
        for error in errors:
            if not is_told(error, in_member=mutated.family in IN_MEMBER):
                self.fail("no reason, member or line", mutated, str(error)[:200])

    def look_at(self, mutated: Mutation, report: dict[str, Any]) -> None:
        """Visit some of the addresses that show an accepted upload."""
        rng = random.Random(f"{self.seed}:{mutated.number}:look")
        signed = report.get("visibility") == "private"
        uids = report["report"].get("profiles") or report.get("profiles") or []
        if not uids:
            return
        uid = rng.choice(uids)
        self.figures.accepted.append(uid)
        detail = self.visit(f"{API}profiles/{uid}/", mutated, signed)
        profile = json.loads(detail.body) if detail.status == 200 else {}
        addresses = profile_addresses(uid, profile.get("platform", ""), profile.get("workload", ""))
        if signed and not self.send.signs_in_to_pages:
            addresses = [address for address in addresses if address.startswith(API)]
        for address in rng.sample(addresses, min(LOOKED_AT, len(addresses))):
            self.visit(address, mutated, signed)

    def visit(self, address: str, why: object, signed: bool = False, status: tuple[int, ...] = (200,)) -> Answered:
        answer = self.ask(Sent("GET", address, signed=signed), f"{address} after {why}" if why else address)
        if answer.status == 422 and "problem" in answer.content_type:
            return answer  # a problem document that explains why no prediction is possible
        if answer.status not in status and answer.status < 500:
            self.fail(
                f"{answer.status} for a page", f"{address} after {why}", answer.body[:200].decode(errors="replace")
            )
        return answer


@contextmanager
def probes(url: str, slow_s: float, campaign: Campaign) -> Iterator[None]:
    """Request /healthz four times a second while the block runs, and print the number of requests and the slowest time.

    Slow responses and statuses other than 200 are failures of the campaign.
    """
    done, taken = threading.Event(), list[float]()

    def probe() -> None:
        while not done.wait(0.25):
            client = Connection(url)  # a persistent connection would wait for its worker
            answer = client.timed("read", "GET", "/healthz")
            client.close()
            taken.append(answer.seconds)
            if answer.status != 200 or answer.seconds > slow_s:
                campaign.fail("/healthz", f"probe {len(taken)}", f"{answer.status} after {answer.seconds:.1f} s")

    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        print(f"{len(taken)} probes of /healthz, the slowest {max(taken, default=0.0):.2f} s")


def is_told(error: dict[str, Any], in_member: bool) -> bool:
    """Return whether an error of a report is complete.

    It must have a reason, the member if a member was changed, and the line if the member is a CSV file.
    """
    reason, member = error["reason"], error["member"]
    if re.fullmatch(r"and \d+ more", reason):
        return True
    has_line = error["line"] is not None or not str(member).endswith(".csv") or WHOLE_MEMBER.search(reason)
    return bool(reason) and bool(has_line) and (member is not None or not in_member)


def outcome_of(sent: Sent, answer: Answered) -> tuple[str, dict[str, Any]]:
    """Return the outcome (accepted, refused, read or failed) and the report, which is empty except for uploads."""
    if answer.status >= 400:
        return ("failed" if answer.status >= 500 else "refused"), {}
    if sent.method in {"GET", "HEAD", "OPTIONS", "TRACE"}:
        return "read", {}
    if not sent.path.startswith(f"{API}uploads/"):
        # A page responds with 200 if it shows the form again, and with 302 if it accepts it.
        return ("accepted" if sent.path.startswith(API) or answer.status == 302 else "read"), {}
    report = json.loads(answer.body) if answer.body else {}
    if "workloads" in report:  # the response to a preview
        return ("refused" if report["errors"] else "read"), {"report": {"errors": report["errors"]}}
    if "report" not in report:
        return "accepted", {}
    return ("refused" if report.get("status") == "rejected" else "accepted"), report


def profile_addresses(uid: str, platform: str, workload: str) -> list[str]:
    """Return the pages and API paths that show one profile."""
    platforms, workloads = f"platforms/{platform}/", f"workloads/{workload}/"
    return [
        "/", "/platforms/", "/workloads/", "/profiles/", f"/profiles/{uid}/", f"/profiles/{uid}/?budget=time",
        f"/profiles/{uid}/beyond/", f"/{platforms}", f"/{workloads}", f"/{workloads}?show=cost",
        f"/ranking/?workload={quote(workload)}",
        f"{API}{platforms}", f"{API}{workloads}", f"{API}profiles/{uid}/beyond/", f"{API}profiles/?platform={platform}",
        f"{API}{platforms}similar/", f"{API}{workloads}similar/",
    ]  # fmt: skip
