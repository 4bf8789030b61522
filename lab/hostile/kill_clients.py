"""Clients of a site that is repeatedly killed (lab.hostile.kills), and the responses that they received.

Claims and deletions are repeated until a response comes, as a careful program does.
"""

from __future__ import annotations

import hashlib
import io
import random
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from lab.hostile.killed_site import Site, Tarball, Tarballs

CLAIMANTS = ("bob", "carl")
UPLOADERS = 2
GONE = {404, 409}


@dataclass
class Quarantined:
    """An upload without an account, and the requests about it. `answers` maps each claimant to the status received."""

    tarball: Tarball
    path: str
    asked: set[str] = field(default_factory=set)
    answers: dict[str, int] = field(default_factory=dict)
    deletion_asked: bool = False
    deleted: bool = False


class Clients:
    """A set of threads that send, claim, delete and fetch while `sending` is set."""

    def __init__(self, site: Site, tarballs: Tarballs, may_send: Callable[[], bool], rng: random.Random) -> None:
        self.site, self.tarballs, self.may_send, self.rng = site, tarballs, may_send, rng
        self.sending = threading.Event()
        self.tokens: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.acknowledged: dict[str, str] = {}  # sha256 -> id, of uploads with an account
        self.deletion_asked: set[str] = set()
        self.deleted: set[str] = set()
        self.quarantined: dict[str, Quarantined] = {}  # by sha256

    def start(self) -> None:
        for name in ("ada", *CLAIMANTS):
            self.tokens[name] = self.site.manage("api_token", name, "--scope", "upload").splitlines()[-1]
        for turn in (*[self.upload] * UPLOADERS, self.delete, self.send_without_account, self.fetch_dump):
            threading.Thread(target=self._repeat, args=(turn,), daemon=True).start()

    def _repeat(self, turn: Callable[[], None]) -> None:
        while self.sending.wait():
            if turn is self.fetch_dump or turn is self.delete:
                time.sleep(0.5)
            elif not self.may_send():
                time.sleep(0.1)
                continue
            turn()

    def upload(self) -> None:
        """Send a tarball with an account. It is not sent again if no response comes."""
        tarball = self.tarballs.make()
        self.counts["sent"] += 1
        status, document = self._once("POST", "uploads/", "ada", tarball)
        if status in {201, 202}:
            self.acknowledged[tarball.sha256] = document["id"]

    def delete(self) -> None:
        left = sorted({*self.acknowledged} - self.deletion_asked)
        if len(left) < 2 * len(self.deletion_asked) + 1:
            return
        sha256 = self.rng.choice(left)
        self.deletion_asked.add(sha256)
        if self._until_answered("DELETE", f"uploads/{self.acknowledged[sha256]}/", "ada", {204, 404}):
            self.deleted.add(sha256)

    def send_without_account(self) -> None:
        """Send a tarball without an account, then claim it (sometimes by two users at once), delete it or leave it."""
        tarball = self.tarballs.make()
        status, document = self._once("POST", "quarantine/", "", tarball)
        if status not in {201, 202}:
            return
        path = document["url"].partition("/api/v1/")[2]
        row = self.quarantined[tarball.sha256] = Quarantined(tarball, path)
        fate = self.rng.random()
        if fate < 0.15:
            return
        if fate < 0.4:
            row.deletion_asked = True
            row.deleted = self._until_answered("DELETE", path, "", {204, 404}) > 0
            return
        claimants = CLAIMANTS if fate < 0.7 else CLAIMANTS[:1]
        row.asked = {*claimants}
        with ThreadPoolExecutor(len(claimants)) as threads:
            ended = threads.map(
                lambda name: self._until_answered("POST", f"{path}claim/", name, {200, *GONE}), claimants
            )
        row.answers = dict(zip(claimants, ended, strict=True))

    def fetch_dump(self) -> None:
        """Fetch a dump and check that it is an intact archive.

        It must also have the announced hash, unless a new dump was published meanwhile.
        """
        form = self.rng.choice(("csv", "parquet", "sqlite"))
        _, before = self._once("GET", "dump/")
        status, content = self._once("GET", f"dump/{form}/")
        _, after = self._once("GET", "dump/")
        if status != 200 or not before or not after:
            return
        self.counts["dumps fetched"] += 1
        self.wrong += what_is_wrong_with(content, form, before if before == after else None)

    def _until_answered(self, method: str, path: str, name: str, expected: set[int]) -> int:
        """Repeat a request until it gets an expected status, and return it, or 0 if sending stops before."""
        while self.sending.is_set():
            status, _ = self._once(method, path, name)
            if status in expected:
                return status
            time.sleep(0.3)
        return 0

    def _once(self, method: str, path: str, name: str = "", tarball: Tarball | None = None) -> tuple[int, dict]:
        status, document = self.site.ask(method, path, self.tokens.get(name, ""), tarball)
        self.counts[f"{method} {path.split('/', maxsplit=1)[0]}: {status or 'no answer'}"] += 1
        if status >= 400 and status not in {503, *GONE}:
            self.wrong.append(f"{method} {path} returned {status}")
        if not status:
            time.sleep(0.2)
        return status, document


def what_is_wrong_with(content: bytes, form: str, document: dict | None) -> list[str]:
    """Return the faults of a fetched dump archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile as error:
        return [f"the dump in {form} is not an archive: {error}"]
    if damaged:
        return [f"the dump in {form} has a damaged member {damaged}"]
    if document is None:
        return []
    expected = next(file["sha256"] for file in document["files"] if file["format"] == form)
    return (
        []
        if hashlib.sha256(content).hexdigest() == expected
        else [f"the dump in {form} differs from the announced one"]
    )
