"""Command that imports files of other tools."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from benchmarks.archive import ArchiveError
from benchmarks.archive.reading import read_platform_file
from benchmarks.foreign import ingest_foreign, known_platform
from benchmarks.formats import FORMATS, read_foreign
from benchmarks.formats.collecting import ForeignFile
from benchmarks.reading import foreign_limits
from profiles.ingest.service import IngestError
from profiles.management.options import add_owner_arguments, owner_of
from profiles.measurements import PlatformRecord, UnreadableError
from profiles.models import Platform
from profiles.scaling.quality import quality_warnings


def column_mapping(text: str) -> tuple[str, str]:
    name, equals, title = text.partition("=")
    if not (name and equals and title):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=COLUMN")
    return name, title


class Command(BaseCommand):
    help = (
        "Import measurements of one machine from files of other tools. If one file is invalid, "
        "nothing is imported. Files that were imported before are skipped."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "files", metavar="FILE", type=Path, nargs="+", help="files of one format, measured on one machine"
        )
        parser.add_argument(
            "--as",
            dest="form",
            metavar="FORMAT",
            required=True,
            choices=FORMATS,
            help=f"format of the files: {', '.join(FORMATS)}",
        )
        machine = parser.add_mutually_exclusive_group()
        machine.add_argument(
            "--platform",
            metavar="FILE.json",
            type=Path,
            help="description of the machine, as platform.json of mpet-results/1",
        )
        machine.add_argument("--platform-slug", metavar="SLUG", help="slug of an existing platform")
        parser.add_argument(
            "--map",
            metavar="NAME=COLUMN",
            type=column_mapping,
            action="append",
            default=[],
            help="column of a plain CSV for a field; repeatable",
        )
        add_owner_arguments(parser)

    def handle(self, *, files: list[Path], form: str, private: bool, owner: str | None, **options: Any) -> None:
        user = owner_of(owner, private)
        try:
            platform = self.platform_of(user, options["platform"], options["platform_slug"])
            contents = [ForeignFile(path.name, path.read_bytes()) for path in tqdm(files, desc="read", leave=False)]
            measurements = read_foreign(
                form, contents, platform=platform, columns=dict(options["map"]), limits=foreign_limits()
            )
            with tqdm(total=len(measurements.profiles), desc="store", unit="profile", leave=False) as bar:
                result = ingest_foreign(form, contents, measurements, owner=user, private=private, progress=bar.update)
        except (ArchiveError, IngestError, OSError) as error:
            raise CommandError(f"nothing was imported: {error}") from error
        for warning in dict.fromkeys([*result.warnings, *quality_warnings(measurements)]):
            self.stderr.write(f"warning: {warning}")
        shown = "private" if result.source.private_to_id else "public"
        self.stdout.write(f"{len(result.profiles)} profiles on {measurements.platforms[0].name}, {shown}")
        for profile in result.profiles:
            self.stdout.write(f"  {profile.workload.name}: n = {profile.n_min} to {profile.n_largest}")

    def platform_of(self, user: Any, path: Path | None, slug: str | None) -> PlatformRecord | None:
        if path is not None:
            with path.open("rb") as file:
                return read_platform_file(file, name=path.name)
        try:
            return None if slug is None else known_platform(slug, user)
        except Platform.DoesNotExist as error:
            raise CommandError(f"there is no platform {slug!r}") from error
        except UnreadableError as error:
            raise CommandError(str(error)) from error
