"""Kill test: servers, workers and dump publishers are killed at random moments while clients write.

    python -m lab.hostile.kills --kills 200 --mode immediate
    python -m lab.hostile.kills --kills 200 --mode database [--database postgresql]

starts real processes on a temporary state folder and database: gunicorn with 2 workers, a process that publishes the
dump repeatedly, and in database mode two `manage.py db_worker`. Clients (lab.hostile.kill_clients) send tarballs with
and without an account, claim the latter, delete uploads and fetch the dump. Meanwhile, every few seconds, one process
or all of them are killed with SIGKILL and then restarted. After each round of kills another process publishes a dump,
and the clients pause. Within a minute

- every upload that received 201 or 202 must be accepted, unless its deletion was requested;
- every upload without an account must still belong to its quarantine, or to exactly one claimant, or be deleted, as
  the responses stated; no file may be stored twice, and no claim or deletion may be incomplete;
- nothing may be in process or enqueued, the tables must have exactly the profiles, runs and readings of the existing
  uploads, and the revision must have been raised once per change.

At the end no file may be left without an upload, and every fetched dump must have been intact. The command prints the
figures. The exit status is 1 if a check failed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from lab.hostile.kill_clients import CLAIMANTS, GONE, Clients, Quarantined
from lab.hostile.killed_site import Site, Tarballs
from lab.hostile.servers import DATABASES, postgresql

QUIET_S = 60.0  # time limit for all checks to pass after a round
MOST_WAITING = 8  # clients pause while more uploads wait
RUN_TABLES = ("profiles_run", "profiles_counterreading", "profiles_scalingcurves", "profiles_featurevector")
LEFT_HOLDERS = (
    "auth_user WHERE username LIKE 'quarantine-%' AND id NOT IN (SELECT holder_id FROM benchmarks_quarantine)"
)
# A process that was killed before it stored the upload leaves such rows. Their secret was never sent.
NEVER_CAME = (
    "benchmarks_quarantine q WHERE NOT EXISTS (SELECT 1 FROM benchmarks_upload u WHERE u.owner_id = q.holder_id)"
)
WORK = {
    "uploads": "benchmarks_upload WHERE status = 'processing'",
    "claims and deletions": "benchmarks_quarantine WHERE ended_at IS NOT NULL",
    "rows to delete": "profiles_stageddelivery",
}


@dataclass
class Figures:
    """The counts and findings of a campaign."""

    mode: str
    kills: Counter[str] = field(default_factory=Counter)
    in_hand_when_killed: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    deleted: int = 0
    quarantined: int = 0
    claimed: int = 0
    claimed_twice_at_once: int = 0
    dumps_made_after_kills: int = 0
    accepted: int = 0
    accepted_at_a_later_attempt: int = 0
    most_attempts: int = 0
    orphaned_files: int = 0
    longest_until_in_order_s: float = 0.0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


class Campaign:
    def __init__(
        self,
        folder: Path,
        mode: str,
        *,
        seed: int = 0,
        environment: dict[str, str] | None = None,
        longest_pause_s: float = 3.0,
    ) -> None:
        """Prepare a campaign. Before each kill, clients write for up to `longest_pause_s`."""
        self.folder = folder
        self.database_url = (environment or {}).get("DATABASE_URL", "")
        self.rng = random.Random(seed)
        self.site = Site(folder, mode, environment or {})
        self.tarballs = Tarballs(random.Random(seed + 1))
        self.figures = Figures(mode)
        self.clients = Clients(self.site, self.tarballs, self._may_send, random.Random(seed + 2))
        self.longest_pause_s = longest_pause_s

    def run(self, kills: int, rounds: int, *, age_files: bool = False) -> Figures:
        """Run the campaign with this number of kills and rounds, and return its figures.

        With `age_files`, the modification times of orphaned files are set back instead of waiting. A database that
        already exists in the folder must be migrated.
        """
        started = time.monotonic()
        if not (self.folder / "mpet.sqlite3").exists():
            self.site.manage("migrate", "--verbosity", "0")
        self.clients.start()
        try:
            for number in range(rounds):
                self._round(kills // rounds + (number < kills % rounds))
            self._sweep(age_files)
        finally:
            self.site.kill("everything")
        quarantined = self.clients.quarantined.values()
        self.figures.answers = self.clients.counts
        self.figures.acknowledged = len(self.clients.acknowledged)
        self.figures.deleted = len(self.clients.deleted)
        self.figures.quarantined = len(quarantined)
        self.figures.claimed = sum(200 in row.answers.values() for row in quarantined)
        self.figures.claimed_twice_at_once = sum(len(row.asked) > 1 for row in quarantined)
        self.figures.wrong += self.clients.wrong
        self.figures.seconds = round(time.monotonic() - started, 1)
        return self.figures

    def _may_send(self) -> bool:
        return self._count("benchmarks_upload WHERE status IN ('received', 'processing')") <= MOST_WAITING

    def _round(self, kills: int) -> None:
        for _ in range(kills):
            self.site.start()
            self.clients.sending.set()
            time.sleep(self.rng.uniform(0.1, self.longest_pause_s))
            victim = self._next_victim()
            for what, rows in WORK.items():
                self.figures.in_hand_when_killed[what] += self._count(rows)
            self.figures.in_hand_when_killed["dumps"] += (self.folder / "dumps" / "making").exists()
            self.site.kill(victim)
            self.figures.kills[victim] += 1
        self.clients.sending.clear()
        self.site.start()
        started = time.monotonic()
        self.site.kill("publisher of dumps")
        self._publish()
        self._wait_for_order(started)

    def _publish(self) -> None:
        """Publish a dump, even if the killed process was just making one."""
        try:
            self.site.manage("publish_dump")
            self.figures.dumps_made_after_kills += 1
        except subprocess.CalledProcessError:
            self.figures.wrong.append("the dump cannot be written")

    def _next_victim(self) -> str:
        """Return a random victim, preferably one that was not killed yet."""
        spared = sorted({*self.site.victims()} - {*self.figures.kills})
        return self.rng.choice(spared or self.site.victims())

    def _wait_for_order(self, started: float) -> None:
        """Wait until all checks pass. Record the time it took, and what still fails after a minute."""
        while (wrong := self.disorder()) and time.monotonic() - started < QUIET_S:
            time.sleep(0.5)
        took = round(time.monotonic() - started, 1)
        self.figures.longest_until_in_order_s = max(self.figures.longest_until_in_order_s, took)
        self.figures.wrong += wrong

    def disorder(self) -> list[str]:
        """Return the failed checks of the database."""
        uploads = self._rows(
            "SELECT sha256, status, attempts, source_id, report, username"
            " FROM benchmarks_upload u LEFT JOIN auth_user a ON a.id = u.owner_id"
        )
        owners: dict[str, list[str]] = {}
        for sha256, *_, owner in uploads:
            owners.setdefault(sha256, []).append(owner)
        wrong = [f"upload is {state}: {report}" for _, state, _, _, report, _ in uploads if state != "accepted"]
        wrong += self._wrong_owners(owners) + self._wrong_rows(uploads) + self._leftovers() + self._wrong_revisions()
        if not self.database_url:
            wrong += [line for (line,) in self._rows("PRAGMA integrity_check") if line != "ok"]
        self.figures.accepted = sum(row[1] == "accepted" for row in uploads)
        self.figures.accepted_at_a_later_attempt = sum(row[2] > 1 for row in uploads)
        self.figures.most_attempts = max((row[2] for row in uploads), default=0)
        return wrong

    def _wrong_owners(self, owners: dict[str, list[str]]) -> list[str]:
        """Return uploads that are lost, duplicated, not deleted or owned by the wrong user."""
        clients = self.clients
        wrong = [f"{sha256} is stored {len(names)} times, for {names}" for sha256, names in owners.items() if names[1:]]
        lost = {*clients.acknowledged} - clients.deletion_asked - {*owners}
        wrong += [f"acknowledged upload {sha256} is missing" for sha256 in lost]
        wrong += [f"deleted upload {sha256} is still stored" for sha256 in clients.deleted & {*owners}]
        for sha256, row in clients.quarantined.items():
            found = owners.get(sha256, [])
            if not may_belong_to(row, found[0] if found else None):
                wrong.append(f"anonymous upload {sha256} belongs to {found}: {row.asked} {row.answers} {row.deleted}")
        return wrong

    def _wrong_rows(self, uploads: list[tuple]) -> list[str]:
        counted = self._rows(
            "SELECT source_id, COUNT(*), SUM((SELECT COUNT(*) FROM profiles_run r WHERE r.profile_id = p.id)),"
            " SUM((SELECT COUNT(*) FROM profiles_counterreading c WHERE c.profile_id = p.id))"
            " FROM profiles_profile p GROUP BY source_id"
        )
        stored = {source: tuple(counts) for source, *counts in counted}
        wrong = []
        for sha256, state, _, source, *_ in uploads:
            if state == "accepted" and stored.pop(source, None) != self.tarballs.sent[sha256].stored:
                wrong.append(f"upload {sha256} is incomplete")
        return wrong + [f"profiles of source {source} belong to no upload" for source in stored]

    def _leftovers(self) -> list[str]:
        orphans = " WHERE profile_id NOT IN (SELECT id FROM profiles_profile)"
        counts = {
            **{f"rows of {table} without a profile": self._count(table + orphans) for table in RUN_TABLES},
            "staged deliveries": self._count("profiles_stageddelivery"),
            "claims and deletions that are not finished": self._count(WORK["claims and deletions"]),
            "quarantine users without a quarantine": self._count(LEFT_HOLDERS),
            "unfinished tasks": self._count("django_tasks_database_dbtaskresult WHERE status IN ('READY', 'RUNNING')"),
            "failed tasks": self._count("django_tasks_database_dbtaskresult WHERE status = 'FAILED'"),
        }
        return [f"{count} {what}" for what, count in counts.items() if count]

    def _wrong_revisions(self) -> list[str]:
        """Return wrong revisions.

        Each public delivery and each withdrawal of one raises the public revision. Each private delivery raises the
        revision of its user.
        """
        numbers = dict(self._rows("SELECT key, number FROM profiles_revision"))
        public = self._count("profiles_source WHERE private_to_id IS NULL") + 2 * self._count(
            "profiles_withdrawnsource"
        )
        wrong = (
            [] if numbers.get("public", 0) == public else [f"public revision is {numbers['public']}; expected {public}"]
        )
        names = ", ".join(f"'{name}'" for name in CLAIMANTS)
        for (user,) in self._rows(f"SELECT id FROM auth_user WHERE username IN ({names})"):
            private = self._count(f"profiles_source WHERE private_to_id = {user}")
            if numbers.get(f"user:{user}", 0) != private:
                wrong.append(f"revision of a user is {numbers.get(f'user:{user}')}; expected {private}")
        return wrong

    def _sweep(self, age_files: bool) -> None:
        """Wait until there are no orphaned files, and no quarantines without an upload."""
        orphans = self._orphans()
        self.figures.orphaned_files = len(orphans)
        if age_files:
            for path in orphans:
                os.utime(path, (0, 0))
        deadline = time.monotonic() + 60 + (0 if age_files else 420)
        while (left := [*self._orphans(), *self._never_came()]) and time.monotonic() < deadline:
            time.sleep(0.5)
        self.figures.wrong += [f"orphaned: {one}" for one in left]

    def _orphans(self) -> list[Path]:
        named = {Path(name).name for (name,) in self._rows("SELECT file FROM benchmarks_upload")}
        kept = [path for path in (self.folder / "media" / "uploads").glob("*") if path.name not in named]
        return [*kept, *(self.folder / "incoming").glob("*")]

    def _never_came(self) -> list[str]:
        return [f"quarantine {key}" for (key,) in self._rows(f"SELECT id FROM {NEVER_CAME}")]

    def _count(self, of: str) -> int:
        return int(self._rows(f"SELECT COUNT(*) FROM {of}")[0][0])

    def _rows(self, query: str) -> list[tuple]:
        if self.database_url:
            with psycopg.connect(self.database_url) as server:
                return server.execute(query).fetchall()
        with closing(sqlite3.connect(self.folder / "mpet.sqlite3", timeout=60)) as connection:
            return connection.execute(query).fetchall()


def may_belong_to(row: Quarantined, owner: str | None) -> bool:
    """Return whether an upload that was sent without an account may belong to `owner`, given the responses.

    `owner` is None if the upload does not exist.
    """
    if row.deletion_asked:
        return owner is None or (owner.startswith("quarantine-") and not row.deleted)
    winners = [name for name, status in row.answers.items() if status == 200]
    if winners:
        return winners == [owner]
    if owner is None:
        return False
    is_claimed = any(status in GONE for status in row.answers.values())
    return owner in row.asked or (owner.startswith("quarantine-") and not is_claimed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--mode", choices=("immediate", "database"), default="immediate")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mpet-kills-"))
        environment = {}
        if options.database == "postgresql":
            environment["DATABASE_URL"] = stack.enter_context(postgresql(options.database))
        campaign = Campaign(Path(folder), options.mode, seed=options.seed, environment=environment)
        figures = campaign.run(options.kills, options.rounds)
    sys.stdout.write(json.dumps(vars(figures), indent=2) + "\n")
    return bool(figures.wrong)


if __name__ == "__main__":
    sys.exit(main())
