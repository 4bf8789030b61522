import io
import json
import tarfile

import pytest
from rest_framework.test import APIClient

from accounts.models import ApiToken
from benchmarks.formats.deliveries import ForeignReading
from benchmarks.models import Upload
from profiles.measurements import PlatformRecord
from profiles.models import Platform, Profile, Source
from tests.benchmarks.formats.test_formats import CSV_COLUMNS
from tests.benchmarks.uploads import receive, specimens
from tests.mpet_site.api_samples import API, make_user
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform

pytestmark = pytest.mark.django_db
MACHINE = json.dumps({"name": "laptop", "cpu_model": "ACME 1000", "threads": 8})


@pytest.fixture
def client(alice):
    client = APIClient()
    client.force_authenticate(alice, token=ApiToken(user=alice, scope="upload"))
    return client


def send(client, name="hyperfine-1.15.0.json", **fields):
    return client.post(f"{API}uploads/", {"file": specimens(name), **fields})


def test_a_file_of_another_tool_becomes_an_upload(client):
    answer = send(client, form="hyperfine", platform_json=MACHINE, visibility="public")
    assert answer.status_code == 201, answer.content
    assert answer.json()["status"] == "accepted"
    profile = Profile.objects.get()
    assert profile.platform.cpu_model == "ACME 1000"
    assert (profile.n_min, profile.n_largest) == (1, 2)
    assert Source.objects.get().kind == "files"
    again = send(client, form="hyperfine", platform_json=MACHINE, visibility="public")
    assert again.json()["id"] == answer.json()["id"]


def test_the_same_file_of_another_machine_is_another_upload(client):
    for name in ("laptop", "desktop"):
        machine = json.dumps({"name": name, "cpu_model": "ACME 1000", "threads": 8})
        assert send(client, form="hyperfine", platform_json=machine).json()["status"] == "accepted"
    assert Upload.objects.count() == 2
    assert Profile.objects.count() == 2


def test_of_a_known_platform(client):
    deliver(measured([sample_platform(name="known")]))
    slug = Platform.objects.get(name="known").slug
    assert send(client, form="hyperfine", platform=slug).json()["status"] == "accepted"
    assert Profile.objects.filter(platform__slug=slug, source__kind="files").count() == 1


def test_a_preview_tells_what_was_understood_and_stores_nothing(client):
    answer = send(
        client, "table.csv", form="csv", platform_json=MACHINE, columns=json.dumps(CSV_COLUMNS), preview="true"
    )
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert found["platform"]["name"] == "laptop"
    fft, sort = found["workloads"]
    assert (fft["name"], fft["n"], fft["runs"]) == ("fft", [1, 2], 3)
    assert fft["time_s"] == pytest.approx([0.8, 0.40975])
    assert sort["name"] == "sort"
    assert any("fewer than 3 repeats" in warning for warning in found["warnings"])
    assert not Upload.objects.exists()
    assert not Source.objects.exists()


def test_a_refused_file_is_a_rejected_upload_and_its_preview_says_why(client):
    errors = [{"member": "table.csv", "line": 1, "reason": "no column is mapped to n"}]
    found = send(client, "table.csv", form="csv", platform_json=MACHINE, preview="true").json()
    assert (found["errors"], found["platform"], found["workloads"]) == (errors, None, [])
    answer = send(client, "table.csv", form="csv", platform_json=MACHINE).json()
    assert (answer["status"], answer["report"]["errors"]) == ("rejected", errors)
    assert not Source.objects.exists()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"form": "nonsense"}, "form"),
        ({"form": "hyperfine", "platform": "nowhere"}, "platform"),
        ({"form": "hyperfine", "platform_json": "{"}, "platform_json"),
        ({"form": "hyperfine", "platform_json": MACHINE, "platform": "nowhere"}, "platform_json"),
        ({"form": "csv", "columns": "[1]"}, "columns"),
        ({"platform_json": MACHINE}, "platform_json"),
        ({"form": "hyperfine", "platform": ""}, "platform"),
        ({"preview": "1"}, "preview"),
    ],
)
def test_a_request_that_cannot_be_is_invalid(fields, name, client):
    answer = send(client, **fields)
    assert answer.status_code == 400
    assert name in json.dumps(answer.json())
    assert not Upload.objects.exists()


def test_a_private_platform_of_somebody_else_is_not_there(client):
    deliver(measured([sample_platform(name="secret")]), owner=make_user("bob"), private=True)
    slug = Platform.objects.get(name="secret").slug
    answer = send(client, form="hyperfine", platform=slug)
    assert answer.status_code == 400
    assert "There is no such platform." in json.dumps(answer.json())


@pytest.mark.parametrize(
    ("names", "fields", "reason"),
    [
        (("talp-1.json", "talp-2.json"), {}, "a single results tarball"),
        (("talp-1.json", "table.csv"), {"form": "auto"}, "one tool and one machine"),
        (("talp-1.json",) * 65, {"form": "talp"}, "at most 64"),
    ],
)
def test_files_that_are_no_upload_are_invalid(client, names, fields, reason):
    answer = client.post(f"{API}uploads/", {"file": specimens(*names), **fields})
    assert answer.status_code == 400
    assert reason in json.dumps(answer.json())
    assert not Upload.objects.exists()


def test_a_stored_archive_is_not_trusted(alice):
    reading = ForeignReading("talp", PlatformRecord("laptop", "ACME 1000", threads=8), packed=True)
    link = tarfile.TarInfo("talp-1.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(link)
    for content in (packed.getvalue(), b"no archive"):
        upload = receive(content, alice, "private", "talp.tar", reading=reading)
        assert upload.status == "rejected"
        assert upload.report["errors"][0]["member"] == "talp.tar"


def test_without_an_account_a_file_has_fewer_runs(client, settings):
    """As a tarball has fewer rows."""
    fields = {"form": "hyperfine", "platform_json": MACHINE}
    settings.QUARANTINE_MAX_ROWS = 1
    sent = {"file": specimens("hyperfine-1.15.0.json"), **fields}
    report = APIClient().post(f"{API}quarantine/", sent).json()["report"]
    assert "has more than 1 runs" in report["errors"][0]["reason"]
    assert send(client, **fields).json()["status"] == "accepted"
