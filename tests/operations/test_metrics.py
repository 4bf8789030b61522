"""/metrics: who may read it, and that it says what the database holds and what was built."""

import os
import re
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from operations import metrics
from predictor.snapshot.cache import read_snapshot
from tests.pages import store_public
from tests.processes import environment_of, output_of

pytestmark = pytest.mark.django_db
TOKEN = "a token of twenty letters"


def samples(response) -> dict[tuple[str, ...], float]:
    """(name, values of labels ...) -> value."""
    families = text_string_to_metric_families(response.content.decode())
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


@pytest.fixture
def reads(settings, client):
    settings.METRICS_TOKEN = TOKEN
    return lambda: client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})


def test_metrics_are_not_there_unless_somebody_may_read_them(client):
    assert client.get("/metrics").status_code == 404


@pytest.mark.parametrize("given", [None, "Bearer ", "Bearer wrong", TOKEN, "Bearer \xe9"])
def test_another_token_reads_nothing(given, settings, client):
    settings.METRICS_TOKEN = TOKEN
    response = client.get("/metrics", headers={"Authorization": given} if given else {})
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
    assert b"mpet_" not in response.content


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("10.1.2.3", {}, 200),
        ("10.2.0.1", {}, 401),
        ("10.2.0.1", {"Authorization": "Bearer "}, 401),  # no token is set
        ("::ffff:10.1.2.3", {}, 200),
        ("2001:db8::1", {}, 200),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.9"}, 401),  # a proxy that MPET_PROXIES does not count
    ],
)
def test_a_network_reads_without_a_token(address, headers, status, settings, client):
    settings.METRICS_NETWORKS = ["10.1.0.0/16", "2001:db8::/32", "127.0.0.0/8"]
    assert client.get("/metrics", headers=headers, REMOTE_ADDR=address).status_code == status


def test_what_the_database_holds_is_counted(reads, alice):
    before = samples(reads())
    store_public()
    metrics.Upload.objects.create(owner=alice, filename="a", sha256="a", size_bytes=1)
    metrics.Computation.objects.create(kind="k", question={}, question_key="k", revision=1)
    after = samples(reads())
    rises = {
        ("mpet_uploads", "received"): 1,
        ("mpet_queue_length", "uploads"): 1,
        ("mpet_queue_length", "computations"): 1,
        ("mpet_uploads", "accepted"): 0,
        ("mpet_revision",): 1,
    }
    assert {name: after[name] - before[name] for name in rises} == rises


def test_predictions_are_counted_by_method(reads, alice):
    from predictor.predictions.question import PredictionRequest  # noqa: PLC0415
    from predictor.predictions.service import predict  # noqa: PLC0415

    store_public()
    for method in ("mpet", "mpet2020"):
        predict(PredictionRequest("app0-section0", "machine-1", method=method), alice)
    found = samples(reads())
    assert found[("mpet_predictions", "mpet")] == found[("mpet_predictions", "mpet2020")] == 1


def test_building_a_snapshot_is_timed_and_dated(reads):
    before = samples(reads()).get(("mpet_snapshot_build_seconds_count",), 0)
    store_public()
    read_snapshot(None)
    found = samples(reads())
    assert found[("mpet_snapshot_build_seconds_count",)] == before + 1
    assert time.time() - found[("mpet_snapshot_built_timestamp_seconds",)] < 60


COUNT_A_REQUEST = f"""
import django; django.setup()
from django.test import Client
client = Client()
assert client.get("/healthz").status_code == 200
print(client.get("/metrics", headers={{"Authorization": "Bearer {TOKEN}"}}).content.decode())
"""


def test_requests_are_counted_over_all_processes_of_a_server(migrated_folder):
    variables = {"DJANGO_SETTINGS_MODULE": "mpet_site.settings_test", "MPET_METRICS_TOKEN": TOKEN}
    environment = environment_of(migrated_folder, **variables)
    outputs = [output_of("-c", COUNT_A_REQUEST, environment=environment) for _ in range(2)]
    counted = r'requests_latency_seconds_by_view_method_count{method="GET",view="healthz"} (\S+)'
    assert [re.search(counted, output)[1] for output in outputs] == ["1.0", "2.0"]
    assert (migrated_folder / "metrics").stat().st_mode & 0o777 == 0o700


def test_what_ended_processes_counted_goes_after_a_day(tmp_path, monkeypatch):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    gone, young, alive = (tmp_path / f"counter_{pid}.db" for pid in (4_194_305, 4_194_306, os.getpid()))
    for path in (gone, young, alive):
        path.touch()
    for path in (gone, alive):
        os.utime(path, (0, 0))
    assert metrics.sweep_metrics() == 1
    assert sorted(tmp_path.iterdir()) == sorted([young, alive])
