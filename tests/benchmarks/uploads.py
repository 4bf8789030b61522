"""Uploads for tests: a tarball, received as a view or a command would."""

import io
from datetime import UTC, datetime

from benchmarks import services
from benchmarks.archive import write_archive
from tests.samples import sample_measurements

CREATED = datetime(2026, 11, 20, 10, tzinfo=UTC)


def tarball(measurements=None) -> bytes:
    file = io.BytesIO()
    write_archive(file, measurements or sample_measurements(1, 2), created=CREATED)
    return file.getvalue()


def receive(content, owner=None, visibility="public", filename="run.tar.gz", **options):
    file = io.BytesIO(content)
    return services.begin_processing(services.keep_tarball(file, owner, visibility, filename, **options))


def kept_files(media):
    return [path for path in media.rglob("*") if path.is_file()] if media.exists() else []
