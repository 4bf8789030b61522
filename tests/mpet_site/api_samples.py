"""Sample data and users of the API, and their clients."""

import hashlib
import io
import json
import pickle
import re
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from accounts.models import ApiToken
from benchmarks.archive import write_archive
from profiles.ingest.service import IngestResult, ingest
from tests.samples import sample_measurements, sample_platform, sample_workload

API = "/api/v1/"


def make_user(name: str, **fields: Any) -> Any:
    return get_user_model().objects.create_user(name, **fields)


def client_of(user: Any = None, scope: str = "upload") -> APIClient:
    """Return an API client with a token of the user, or an anonymous one if `user` is None."""
    client = APIClient(raise_request_exception=False)
    if user is not None:
        _, secret = ApiToken.issue(user, scope)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def store(measurements: Any, owner: Any = None, private: bool = False, label: str = "sample") -> IngestResult:
    sha256 = hashlib.sha256(pickle.dumps((measurements, label))).hexdigest()
    return ingest(measurements, kind="tarball", label=label, sha256=sha256, owner=owner, private=private)


def secret_measurements(**fields: Any) -> Any:
    """Return measurements of one platform and one workload that are not in the other samples."""
    measurements = sample_measurements(1, 1, seed=7, **fields)
    measurements.platforms[0] = sample_platform(99, name="secret-machine", cpu_model="Secret CPU")
    measurements.workloads[0] = sample_workload(98, name="secret/kernel", application="secret")
    return measurements


def tarball(measurements: Any = None, name: str = "results.tar.gz") -> SimpleUploadedFile:
    packed = io.BytesIO()
    write_archive(packed, measurements or sample_measurements(1, 2, seed=3), created=datetime(2026, 11, 20, tzinfo=UTC))
    return SimpleUploadedFile(name, packed.getvalue(), "application/gzip")


def read(response: Any) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def said(response: Any) -> bytes:
    """Return the body without the request id, which differs between requests."""
    return re.sub(rb'"request_id": "[^"]*"', b'"request_id": ""', read(response))


def strict_json(content: bytes) -> Any:
    """Parse JSON strictly. Raises AssertionError for NaN and Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(content, parse_constant=refuse)
