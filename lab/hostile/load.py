"""Load test: the number of readers and writers that the server serves at once, and their response times.

    python -m lab.hostile.load [--database sqlite postgresql] [--clients 50] [--seconds 60] [--hostile-previews 1]

For each database, a temporary MPET with the demo is served as by `make run`, without rate limits, because all clients
have the same address. Most clients read pages and the API without a pause. A few (`--writers`) store predictions, and
one (`--uploaders`) sends tarballs, which are processed during the request. In addition, `--hostile-previews` accounts
send mutated files of other tools for a preview without a pause, with the server's default rate limit for previews. The
exit status is 1 if a request failed or if the 99th percentile of the reads exceeds --p99 seconds.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import quote, urlsplit

from lab.hostile.servers import DATABASES, Installation, installation, served

TIMEOUT_S = 120
PAGES = (
    "/", "/platforms/", "/workloads/", "/profiles/", "/predict/", "/what-if/", "/ranking/", "/maps/workloads/",
    "/distances/platforms/", "/distances/workloads/", "/compare/platforms/", "/compare/workloads/", "/accuracy/",
    "/settled/", "/measure/", "/glossary/", "/healthz",
)  # fmt: skip
LISTS = (
    "platforms/", "workloads/", "profiles/", "predictions/", "methods/", "scaling-models/", "evaluations/",
    "kit/", "kit/guide/", "predictions/score/", "platforms/?format=csv",
)  # fmt: skip
SHARES = {"pages": 4, "details": 4, "lists": 3, "answers": 3, "predictions": 1}
UPLOAD_PAUSE_S = 5.0
PREVIEW_RATE = "10/min"  # the default, which is meant for such a stream of previews


@dataclass(frozen=True)
class Answer:
    kind: str  # "read", "write" or "hostile"
    path: str
    seconds: float
    status: int | str  # HTTP status, or name of the exception
    started: float = 0.0


@dataclass
class Contents:
    """The rows of the database that clients request."""

    platforms: list[str]
    workloads: list[str]
    profiles: list[str]
    pairs: list[tuple[str, str]]
    predictions: list[str] = field(default_factory=list)


class Client:
    """An HTTP client with one persistent connection."""

    def __init__(self, url: str, token: str = "") -> None:
        self.address = urlsplit(url)
        self.headers = {"Accept-Encoding": "gzip"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self.connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> tuple[int, bytes]:
        """Send a request and return status and body."""
        return self.exchange(method, path, body, kind, {})[:2]

    def exchange(
        self, method: str, path: str, body: bytes | None, kind: str, also: dict[str, str]
    ) -> tuple[int, bytes, str]:
        """Send a request and return status, body and content type. A connection closed by the server is reopened."""
        headers = self.headers | also | ({"Content-Type": kind} if kind else {})
        for last in (False, True):
            kept = self.connection is not None
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    self.address.hostname or "", self.address.port, timeout=TIMEOUT_S
                )
            try:
                with suppress(BrokenPipeError):  # the server may have responded before everything was sent
                    self.connection.request(method, path, body, headers)
                response = self.connection.getresponse()
                content = response.read()
                if response.will_close:
                    self.close()
                return response.status, content, response.headers.get("Content-Type", "")
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.close()
                if last or not kept:
                    raise
        raise AssertionError("the second try returns or raises")

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def timed(self, kind: str, method: str, path: str, body: bytes | None = None, content: str = "") -> Answer:
        start = time.perf_counter()
        try:
            status: int | str = self.ask(method, path, body, content)[0]
        except (OSError, http.client.HTTPException) as error:
            self.close()
            status = type(error).__name__
        return Answer(kind, path, time.perf_counter() - start, status, start)


def contents_of(url: str) -> Contents:
    client = Client(url)
    client.headers = {}  # no compression

    def rows(path: str) -> list[dict]:
        return json.loads(client.ask("GET", f"/api/v1/{path}?page_size=200")[1])["results"]

    profiles = rows("profiles/")
    return Contents(
        platforms=[row["slug"] for row in rows("platforms/")],
        workloads=[row["slug"] for row in rows("workloads/")],
        profiles=[row["id"] for row in profiles],
        pairs=[(row["workload"], row["platform"]) for row in profiles],
    )


def reads(rng: random.Random, there: Contents) -> Iterator[str]:
    """Yield endless addresses, mixed as visitors and programs request them."""
    kinds: dict[str, Callable[[], str]] = {
        "pages": lambda: rng.choice(PAGES),
        "lists": lambda: f"/api/v1/{rng.choice(LISTS)}",
        "details": lambda: detail(rng, there),
        "answers": lambda: answer(rng, there),
        "predictions": lambda: stored_prediction(rng, there),
    }
    while True:
        yield kinds[rng.choices(list(SHARES), list(SHARES.values()))[0]]()


def detail(rng: random.Random, there: Contents) -> str:
    """Return the address of a platform, workload or profile, as a page or as JSON."""
    kind = rng.choice(("platforms", "workloads", "profiles"))
    return f"{rng.choice(('', '/api/v1'))}/{kind}/{quote(rng.choice(getattr(there, kind)))}/"


def answer(rng: random.Random, there: Contents) -> str:
    """Return the address of a computed result: a preview, a ranking or a comparison."""
    workload, target = rng.choice(there.pairs)
    pair = f"?workload={quote(workload)}&target={quote(target)}"
    return rng.choice(
        (
            f"/{pair}",
            f"/what-if/{pair}",
            f"/api/v1/predictions/preview/{pair}",
            f"/api/v1/rankings/?workload={quote(workload)}",
            f"/api/v1/platforms/{quote(target)}/similar/",
            f"/api/v1/compare/platforms/?slugs={','.join(map(quote, rng.sample(there.platforms, 2)))}",
            "/api/v1/distances/platforms/matrix/",
            "/api/v1/distances/workloads/map/",
        )
    )


def stored_prediction(rng: random.Random, there: Contents) -> str:
    if not there.predictions:
        return "/api/v1/predictions/"
    return f"{rng.choice(('', '/api/v1'))}/predictions/{rng.choice(there.predictions)}/"


class Crowd:
    """All clients of one measurement, and the responses that they received."""

    def __init__(self, url: str, token: str, seconds: float, seed: int, hostile: Sequence[str] = ()) -> None:
        self.url, self.token, self.seed, self.hostile = url, token, seed, hostile
        self.end = time.perf_counter() + seconds
        self.there = contents_of(url)
        self.answers: list[Answer] = []

    def run(self, readers: int, writers: int, uploaders: int) -> list[Answer]:
        work = [self.read] * readers + [self.predict] * writers + [self.upload] * uploaders
        threads = [
            threading.Thread(target=one, args=(random.Random(f"{self.seed}:{number}"),), daemon=True)
            for number, one in enumerate(work)
        ]
        threads += [threading.Thread(target=self.attack, args=(token,), daemon=True) for token in self.hostile]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.answers

    def read(self, rng: random.Random) -> None:
        client = Client(self.url)
        for path in reads(rng, self.there):
            if time.perf_counter() > self.end:
                return
            self.answers.append(client.timed("read", "GET", path))

    def predict(self, rng: random.Random) -> None:
        client = Client(self.url, self.token)
        while time.perf_counter() < self.end:
            workload, target = rng.choice(self.there.pairs)
            question = json.dumps({"workload": workload, "target": target, "include_simulated": True}).encode()
            self.answers.append(client.timed("write", "POST", "/api/v1/predictions/", question, "application/json"))
            time.sleep(rng.random())

    def attack(self, token: str) -> None:
        """Request previews of mutated files, one after another, from one account."""
        from lab.hostile.foreign_files import foreign_mutation  # noqa: PLC0415  (needs settings)
        from lab.hostile.mutations import Known  # noqa: PLC0415

        client, there = Client(self.url, token), Known([], [], [], [])
        for number in count():
            sent = foreign_mutation(self.seed, number, there).sent
            if time.perf_counter() > self.end:
                return
            if b'name="preview"' in sent.body and sent.path.startswith("/api/"):
                self.answers.append(client.timed("hostile", "POST", sent.path, sent.body, sent.content_type))

    def upload(self, rng: random.Random) -> None:
        from tests.benchmarks.tarballs import packed  # noqa: PLC0415  (needs settings)
        from tests.samples import sample_measurements  # noqa: PLC0415

        client = Client(self.url, self.token)
        while time.perf_counter() < self.end:
            body, kind = multipart(packed(sample_measurements(1, 2, seed=rng.getrandbits(32))), "public")
            self.answers.append(client.timed("write", "POST", "/api/v1/uploads/", body, kind))
            time.sleep(max(0.0, min(UPLOAD_PAUSE_S, self.end - time.perf_counter())))


def multipart(tarball: bytes, visibility: str) -> tuple[bytes, str]:
    """Return the body of an upload and its content type."""
    boundary = "mpet-hostile"
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="visibility"\r\n\r\n{visibility}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="results.tar.gz"\r\n'
        "Content-Type: application/gzip\r\n\r\n"
    )
    return body.encode() + tarball + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def loop_s(_: int) -> float:
    start = time.perf_counter()
    sum(number * number & 7 for number in range(3_000_000))
    return time.perf_counter() - start


def cores_worth() -> float:
    """Return the number of cores that are effectively available. It is lower if other guests of the host use them."""
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        alone = min(loop_s(0) for _ in range(3))
        together = list(pool.map(loop_s, range(4 * cores)))
    return cores * alone / (sum(together) / len(together))


def measure(made: Installation, arguments: argparse.Namespace) -> list[Answer]:
    """Measure one server after a warm-up, and return the responses."""
    token = made.manage("api_token", "load")
    with served(made, WORKERS=str(arguments.workers)) if arguments.workers else served(made) as url:
        hostile = [made.manage("api_token", f"hostile-{number}") for number in range(arguments.hostile_previews)]
        Crowd(url, token, arguments.warm, seed=0, hostile=hostile).run(8, arguments.writers, arguments.uploaders)
        readers = arguments.clients - arguments.writers - arguments.uploaders
        worth = cores_worth()
        crowd, before = Crowd(url, token, arguments.seconds, arguments.seed, hostile), time.process_time()
        answers = crowd.run(readers, arguments.writers, arguments.uploaders)
        clients = (time.process_time() - before) / arguments.seconds
    print(f"the cores did the work of {worth:.2f} before and {cores_worth():.2f} after; the clients took {clients:.2f}")
    return answers


def percentile(values: list[float], share: float) -> float:
    """Return a percentile of the values (one of them, without interpolation), or NaN if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def is_failure(answer: Answer) -> bool:
    """Return whether a request failed: it received no response, or an error status.

    For hostile requests, 4xx and 503 are no failures: the server responds with 503 while it reads another file.
    """
    if answer.kind == "hostile":
        return not isinstance(answer.status, int) or (answer.status >= 500 and answer.status != 503)
    return not isinstance(answer.status, int) or answer.status >= 400


def print_answers(database: str, answers: list[Answer], seconds: float) -> None:
    for kind in ("read", "write", "hostile"):
        chosen = [answer for answer in answers if answer.kind == kind]
        times = [answer.seconds for answer in chosen]
        if not times:
            continue
        failed = Counter(str(answer.status) for answer in chosen if is_failure(answer))
        print(
            f"{database:<11} {kind:<6} {len(times) / seconds:7.1f}/s   p50 {percentile(times, 0.5):6.3f} s   "
            f"p95 {percentile(times, 0.95):6.3f} s   p99 {percentile(times, 0.99):6.3f} s   max {max(times):6.3f} s   "
            f"errors {dict(failed) or 0}"
        )


def print_slowest(answers: list[Answer], most: int) -> None:
    """Print the addresses, with names replaced by *, that have the longest median times."""
    by_shape: dict[str, list[float]] = defaultdict(list)
    for one in answers:
        parts = urlsplit(one.path)
        shape = "/".join(part if len(part) < 15 and "-" not in part[:-5] else "*" for part in parts.path.split("/"))
        by_shape[shape + ("?" if parts.query else "")].append(one.seconds)
    for shape, times in sorted(by_shape.items(), key=lambda item: -percentile(item[1], 0.5))[:most]:
        print(f"    {percentile(times, 0.5):6.3f} s in the median of {len(times):5}: {shape}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", nargs="+", default=list(DATABASES), help="sqlite, postgresql or URLs")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--writers", type=int, default=3, help="clients that store predictions")
    parser.add_argument("--uploaders", type=int, default=1, help="clients that upload")
    parser.add_argument("--hostile-previews", type=int, default=0, help="additional accounts that send mutated files")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm", type=float, default=15, help="warm-up in seconds")
    parser.add_argument("--workers", type=int, default=0, help="server processes (0: as in `make run`)")
    parser.add_argument("--p99", type=float, default=1.0, help="longest accepted read in seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="also list the N slowest addresses")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    good = True
    for database in arguments.database:
        with installation(database, MPET_THROTTLE_PREVIEW=PREVIEW_RATE) as made:
            answers = measure(made, arguments)
        print_answers(database, answers, arguments.seconds)
        print_slowest(answers, arguments.slowest)
        read = [answer.seconds for answer in answers if answer.kind == "read"]
        good = good and not any(map(is_failure, answers)) and percentile(read, 0.99) <= arguments.p99
    return 0 if good else 1


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mpet_site.settings_test")
    import django

    django.setup()
    sys.exit(main())
