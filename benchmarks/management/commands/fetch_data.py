"""Command that imports public measurements."""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from benchmarks.fetching import FetchReport, fetch
from benchmarks.public_data import SLIM_SOURCES, SOURCES
from benchmarks.public_data.download import DownloadError, download, sparse_clone
from benchmarks.public_data.files import UnreadableOrigin
from benchmarks.public_data.interface import PublicSource
from profiles.ingest.service import IngestError


class Command(BaseCommand):
    help = "Import public measurements. Stored machines are skipped, so an interrupted import can be resumed."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "source", metavar="SOURCE", choices=sorted(SOURCES), help=f"data source: {', '.join(sorted(SOURCES))}"
        )
        parser.add_argument(
            "--from",
            dest="origin",
            metavar="PATH",
            type=Path,
            help="archive, clone or folder to read instead of downloading",
        )
        parser.add_argument(
            "--limit", metavar="N", type=int, help="maximum number of machines to store; the next call continues"
        )
        parser.add_argument(
            "--update", action="store_true", help="also import machines that changed since they were stored"
        )

        parser.add_argument(
            "--slim",
            action="store_true",
            help="import 60 workloads only, from a sparse git clone of 22 MB; with --update, also reduce "
            "machines that were stored from the whole archive",
        )

    def handle(self, *, source: str, origin: Path | None, limit: int | None, **options: Any) -> None:
        update, slim = options["update"], options["slim"]
        if limit is not None and limit < 1:
            raise CommandError(f"--limit is {limit}, less than 1")
        if slim and source not in SLIM_SOURCES:
            raise CommandError(f"--slim is for {', '.join(SLIM_SOURCES)}; {source} is small")
        public = SLIM_SOURCES[source] if slim else SOURCES[source]
        try:
            if origin is not None:
                self.fetch(public, origin, limit, update)
            elif slim:
                clone = settings.FETCHED_DIR / f"{source}.clone"
                self.stdout.write(f"fetching {len(SLIM_SOURCES[source].patterns)} files of each machine with git")
                sparse_clone(SLIM_SOURCES[source].clone_url, SLIM_SOURCES[source].patterns, clone)
                self.fetch(public, clone, limit, update)
            else:
                archive = self.downloaded(public)
                self.fetch(public, archive, limit, update)
                # Without a limit, the whole archive was read.
                if limit is None:
                    archive.unlink()
        except (UnreadableOrigin, DownloadError, IngestError) as error:
            raise CommandError(f"{source} was not fetched completely: {error}") from error

    def downloaded(self, source: PublicSource) -> Path:
        archive = settings.FETCHED_DIR / f"{source.name}.archive"
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tqdm(desc="download", unit="B", unit_scale=True, leave=False) as bar:
            download(source.archive_url, archive, bar.update)
        return archive

    def fetch(self, source: PublicSource, origin: Path, limit: int | None, update: bool) -> None:
        so_far = FetchReport()
        with tqdm(desc="fetch", unit="machine", leave=False) as bar:

            def looked(report: FetchReport) -> None:
                nonlocal so_far
                so_far = report
                bar.update()
                bar.set_postfix(stored=report.stored, refused=report.refused.total(), refresh=False)

            try:
                so_far = fetch(source, origin, limit=limit, update=update, looked=looked)
            except KeyboardInterrupt as stopped:
                bar.close()
                self.report(source, so_far)
                raise CommandError("interrupted; the next call continues", returncode=130) from stopped
        self.report(source, so_far)

    def report(self, source: PublicSource, report: FetchReport) -> None:
        self.stdout.write(f"{source.title}: {report.stored} machines stored with {report.profiles} profiles")
        self.stdout.write(f"{report.known} were stored before, {report.outdated} had changed and were replaced")
        self.list_counted(f"{report.refused.total()} machines refused", report.refused)
        self.list_counted(f"{report.left_out.total()} single results left out", report.left_out)
        if report.prices_dropped:
            self.stdout.write(f"{report.prices_dropped} prices dropped: their machines are no longer stored")
        for kind, messages in report.notes.items():
            self.stderr.write(f"warning: {len(messages)} {kind}, the first: {messages[0]}")
        self.stdout.write(f"licence: {source.licence}")
        self.stdout.write(f"source: {source.citation}")

    def list_counted(self, head: str, counted: Counter[str]) -> None:
        self.stdout.write(f"{head}{':' if counted else ''}")
        for reason, count in counted.most_common():
            self.stdout.write(f"{count:8d}  {reason}")
