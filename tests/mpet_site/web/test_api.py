"""Walks every endpoint of a database that is full of invalid elements: no answer holds NaN or Infinity, and every one
is what docs/openapi.yaml says, with no member more or less."""

import csv
import io
import re
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

from mpet_site.urls import api
from profiles.identity.programs import programs_by_source
from profiles.models import FeatureVector, Platform, Profile, ScalingCurves
from tests.mpet_site.api_samples import (
    API,
    client_of,
    make_user,
    read,
    store,
    strict_json,
    tarball,
)
from tests.mpet_site.web.test_problems import problem_in
from tests.paths import ROOT
from tests.predictor.stored_evaluations import evaluate_and_store, store_report
from tests.programs import program_measurements
from tests.samples import sample_measurements, sample_platform
from tests.unchecked import without_checks

pytestmark = pytest.mark.django_db

FILES = {
    *("api-kit", "api-kit-built", "api-client", "api-dump-file", "api-upload-file"),
    *("api-profile-extra-p", "api-profile-extra-p-lines", "api-profile-runs"),
}
POST_ALONE = {"api-prediction-batch", "api-begin-login", "api-hand-out-token", "api-quarantine", "api-claim"}
NOT_JSON = {"api-schema", "api-docs", "api-unknown-path", *POST_ALONE, *FILES}


@pytest.fixture
def addresses():
    client = client_of(make_user("ada"))
    upload = client.post(API + "uploads/", {"file": tarball(), "visibility": "public"}).json()
    profiles = store(sample_measurements(3, 4, decomposed=False, counters=False)).profiles
    source = store(program_measurements(), label="program").source
    (program,) = programs_by_source([source.pk], None)[source.pk]
    asked = {"workload": profiles[0].workload.slug, "target": profiles[0].platform.slug, "n": [1, 3, 10**6]}
    prediction = client.post(API + "predictions/", asked, format="json")
    assert prediction.status_code == 201, prediction.content
    evaluation = evaluate_and_store()
    store_report()
    spoil()
    a, b = profiles[0], profiles[-1]
    return {
        "api-platform": [f"platforms/{profile.platform.slug}/" for profile in profiles],
        "api-workload": [f"workloads/{profile.workload.slug}/" for profile in profiles],
        "api-profile": [f"profiles/{profile.uid}/" for profile in profiles],
        "api-upload": [f"uploads/{upload['id']}/"],
        "api-upload-file": [f"uploads/{upload['id']}/file/"],
        "api-quarantined": [quarantined()],
        "api-uploads": [],  # for users alone, as are these
        "api-tokens": [],
        "api-account": [],
        "api-account-export": [],
        "api-predictions": [],
        "api-prediction": [f"predictions/{prediction.json()['id']}/"],
        "api-platform-distance": [f"distances/platforms/?a={a.platform.slug}&b={b.platform.slug}"],
        "api-workload-distance": [f"distances/workloads/?a={a.workload.slug}&b={b.workload.slug}"],
        "api-paper-tables": ["evaluations/paper/"],
        "api-evaluation": [f"evaluations/{evaluation.uid}/"],
        "api-evaluation-errors": [f"evaluations/{evaluation.uid}/errors/"],
        "api-scaling-model-fit": [],
        "api-prediction-preview": [f"predictions/preview/?workload={a.workload.slug}&target={a.platform.slug}"],
        "api-prediction-possible": [f"predictions/possible/?workload={a.workload.slug}"],
        "api-profile-beyond": [f"profiles/{b.uid}/beyond/"],
        "api-why": [f"predictions/{prediction.json()['id']}/why/"],
        "api-measure-next": [f"predictions/{prediction.json()['id']}/measure-next/"],
        "api-program": [f"programs/{program.source_uid}/{program.slug}/"],
        "api-program-measure-next": [
            f"programs/{program.source_uid}/{program.slug}/measure-next/?target={b.platform.slug}"
        ],
        "api-own-prices": [],
        "api-advice": [f"advice/?workload={a.workload.slug}&target={b.platform.slug}"],
        "api-rankings": [f"rankings/?workload={a.workload.slug}"],
        "api-similar-platforms": [f"platforms/{a.platform.slug}/similar/"],
        "api-similar-workloads": [f"workloads/{a.workload.slug}/similar/"],
        "api-compare-platforms": [f"compare/platforms/?slugs={a.platform.slug},{b.platform.slug}"],
        "api-compare-workloads": [f"compare/workloads/?slugs={a.workload.slug},{b.workload.slug}&on={a.platform.slug}"],
    }


def quarantined() -> str:
    sent = client_of().post(API + "quarantine/", {"file": tarball()})
    assert sent.status_code in (201, 202), sent.content
    return sent.json()["url"].partition(API)[2]


def spoil():
    """What no ingest stores and an old or damaged database may hold all the same."""
    vector = FeatureVector.objects.first()
    vector.values = np.full(84, np.inf)
    vector.rms = np.full(14, np.nan)
    vector.save()
    curves = ScalingCurves.objects.first()
    curves.values = np.full(len(curves.values), -np.inf)
    curves.save()
    FeatureVector.objects.last().delete()
    ScalingCurves.objects.last().delete()
    Profile.objects.update(fit_error=None)
    with without_checks(Platform):
        Platform.objects.update(base_mhz=float("inf"))


def strict(schema: Any) -> Any:
    """OpenAPI 3.0 as JSON Schema: `nullable` spelled out, and no member that is not described."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {name: strict(value) for name, value in schema.items()}
    if "properties" in converted and isinstance(schema.get("type"), str):
        converted.setdefault("additionalProperties", False)
    return {"anyOf": [converted, {"type": "null"}]} if converted.pop("nullable", False) is True else converted


@pytest.fixture(scope="module")
def described():
    """{"/api/v1/platforms/{slug}/": schema of its 200}, references resolved against the whole document."""
    document = yaml.load((ROOT / "docs" / "openapi.yaml").read_text(), yaml.CSafeLoader)
    components = strict(document["components"])
    answers = {}
    for path, operations in document["paths"].items():
        for method in sorted(operations, key=["delete", "patch", "post", "get"].index):
            answer = next(answer for code, answer in operations[method]["responses"].items() if code.startswith("2"))
            schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
            answers[path] = strict(schema) | {"components": components}
    return answers


def described_path(pattern: Any) -> str:
    return API + re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern))


def test_answers_are_json_without_nan_as_described(addresses, described):
    client, visited, nulls = client_of(), 0, 0
    for included in api:
        for pattern in included.url_patterns:
            if pattern.name in NOT_JSON:
                continue
            for path in addresses.get(pattern.name) or ([] if pattern.name in addresses else [str(pattern.pattern)]):
                response = client.get(API + path)
                assert response.status_code == 200, (path, response.content)
                jsonschema.validate(strict_json(response.content), described[described_path(pattern.pattern)])
                visited += 1
                nulls += response.content.count(b"null")
                if "text/csv" in client.options(API + path).json()["renders"]:
                    text = read(client.get(f"{API}{path}?format=csv")).decode().lower()
                    assert not re.search(r"(^|,)-?(nan|inf|none)\b", text, re.MULTILINE)
    assert visited > 30
    assert nulls > 1000


LISTS = ("platforms/", "workloads/", "profiles/")


def rows_of(response):
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(read(response).decode())))


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("nonsense=1", "nonsense"),
        ("private_to=1", "private_to"),
        ("ordering=nonsense", "ordering"),
        ("ordering=private_to__username", "ordering"),
        ("ordering=-", "ordering"),
        ("format=xml", "format"),
        ("format=csv&page=0", "page"),
        ("format=csv&page_size=no", "page_size"),
        ("search=a&search=b", "search"),
        ("search=%00", "search"),
        pytest.param("search=" + "a+" * 11, "search", id="trust_4 eleven words"),
        pytest.param("search=" + "a," * 1_900, "search", id="trust_4 many words with commas"),
        pytest.param("search=%22" + "a+" * 11 + "%22", "search", id="trust_4 a phrase of many words"),
        pytest.param("search=" + "a" * 201, "search", id="trust_4 a long word"),
    ],
)
def test_what_a_list_does_not_know_is_refused(path, query, name):
    document = problem_in(client_of().get(f"{API}{path}?{query}"), 400)
    assert [error["name"] for error in document["errors"]] == [name]


def test_detail_pages_know_no_filters():
    slug = store(sample_measurements(1, 1)).profiles[0].platform.slug
    problem_in(client_of().get(f"{API}platforms/{slug}/?page=1"), 400)


def test_unknown_values_come_last_in_both_directions():
    measurements = sample_measurements(3, 1)
    measurements.platforms[1] = sample_platform(1, base_mhz=None)
    store(measurements)
    for ordering, expected in (("base_mhz", [2000, 2200, None]), ("-base_mhz", [2200, 2000, None])):
        rows = client_of().get(f"{API}platforms/?ordering={ordering}").json()["results"]
        assert [row["base_mhz"] for row in rows] == expected


@pytest.mark.parametrize("path", LISTS)
def test_csv_has_all_rows_that_match(path):
    store(sample_measurements(3, 4))
    client = client_of()
    listed = client.get(API + path).json()["results"]
    rows = rows_of(client.get(API + path + "?format=csv&page_size=1"))
    assert len(rows) == len(listed)
    names = [name for name in ("slug", "id", "platform", "t1_s") if name in rows[0]]
    assert [[row[name] for name in names] for row in rows] == [[str(row[name]) for name in names] for row in listed]
    assert rows_of(client.get(API + path, HTTP_ACCEPT="text/csv")) == rows
    assert client.options(f"{API}{path}?format=csv").json()["renders"] == ["application/json", "text/csv"]


def test_csv_leaves_null_empty_and_formulas_harmless():
    measurements = sample_measurements(1, 1)
    measurements.platforms[0] = sample_platform(0, name='=HYPERLINK("http://x")', base_mhz=None, virtualised=None)
    store(measurements)
    (row,) = rows_of(client_of().get(API + "platforms/?format=csv"))
    assert row["name"] == '\'=HYPERLINK("http://x")'
    assert (row["base_mhz"], row["virtualised"]) == ("", "")
    assert client_of().get(API + "platforms/").json()["results"][0]["name"] == '=HYPERLINK("http://x")'


def test_csv_of_more_rows_than_a_worker_may_stream_is_refused(monkeypatch):
    store(sample_measurements(3, 1))
    monkeypatch.setattr("mpet_site.web.api.MOST_CSV_ROWS", 2)
    document = problem_in(client_of().get(API + "platforms/?format=csv"), 400)
    assert "more than 2 rows match" in document["errors"][0]["reason"]
    slug = Platform.objects.first().slug
    assert len(rows_of(client_of().get(f"{API}profiles/?format=csv&platform={slug}"))) == 1


def test_csv_of_an_empty_list_is_its_header():
    assert read(client_of().get(API + "profiles/?format=csv")).startswith(b"id,platform,workload,")
