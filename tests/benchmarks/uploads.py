"""Uploads for tests, received in the same way as by a view or a command."""

import io

from django.core.files.uploadedfile import SimpleUploadedFile

from benchmarks import services
from tests.benchmarks.formats.test_formats import SPECIMENS
from tests.benchmarks.tarballs import packed
from tests.samples import sample_measurements


def tarball(measurements=None) -> bytes:
    return packed(measurements or sample_measurements(1, 2))


def receive(content, owner=None, visibility="public", filename="run.tar.gz", **options):
    file = io.BytesIO(content)
    return services.begin_processing(services.keep_tarball(file, owner, visibility, filename, **options))


def specimens(*names):
    """Return files of other tools as a form sends them."""
    return [SimpleUploadedFile(name, (SPECIMENS / name).read_bytes()) for name in names]


def kept_files(media):
    return [path for path in media.rglob("*") if path.is_file()] if media.exists() else []
