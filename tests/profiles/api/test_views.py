"""Shapes of platforms/, workloads/ and profiles/ as docs/formats.md promises, their filters, and what they cost."""

from dataclasses import replace

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from profiles.models import FeatureVector, Profile, ScalingCurves
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FEATURE_NAMES
from tests.mpet_site.api_samples import API, client_of, read, secret_measurements, store, strict_json
from tests.pages import text_of
from tests.profiles.scaling.ceilings import MEASURED
from tests.samples import sample_measurements, sample_platform, sample_workload

pytestmark = pytest.mark.django_db
PROMISED = {"id", "platform", "workload", "origin", "decomposed", "t1_s", "curves", "fits", "features"}
PROMISED |= {"fit_error", "warnings", "upload"}


def get(path, client=None):
    response = (client or client_of()).get(API + path)
    assert response.status_code == 200, response.content
    return strict_json(response.content)


def test_profile_has_the_promised_shape_and_shows_what_is_stored():
    measurements = sample_measurements(1, 1, licence="CC BY 4.0", source="Somebody 2020", note="a note")
    profile = store(measurements, label="set").profiles[0]
    shown = get(f"profiles/{profile.uid}/")
    assert set(shown) >= PROMISED
    assert (shown["id"], shown["upload"]) == (str(profile.uid), None)
    assert (shown["platform"], shown["workload"]) == (profile.platform.slug, profile.workload.slug)
    assert list(shown["curves"]) == ["n", "time_s", *CURVE_NAMES]
    assert shown["curves"]["n"] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16]
    assert shown["t1_s"] == pytest.approx(shown["curves"]["time_s"][0])
    curves = [shown["curves"][name] for name in ("time_s", *CURVE_NAMES)]
    np.testing.assert_array_equal(np.array(curves, dtype=float).ravel(), ScalingCurves.objects.get().values)
    assert list(shown["fits"]) == list(CURVE_NAMES)
    assert {tuple(fit) for fit in shown["fits"].values()} == {(*ELEMENTS, "rms")}
    assert shown["features"]["names"] == list(FEATURE_NAMES)
    values = np.array(shown["features"]["values"], dtype=float)
    stored = FeatureVector.objects.get()
    assert len(values) == 84
    np.testing.assert_array_equal(values, stored.values)
    fits = np.array([list(fit.values()) for fit in shown["fits"].values()], dtype=float)
    np.testing.assert_array_equal(fits[:, :6].ravel(), values)
    np.testing.assert_array_equal(fits[:, 6], stored.rms)
    source = {name: shown["source"][name] for name in ("label", "licence", "citation", "note")}
    assert source == {"label": "set", "licence": "CC BY 4.0", "citation": "Somebody 2020", "note": "a note"}


def test_list_rows_are_what_their_own_pages_show_and_workloads_have_their_size():
    measurements = sample_measurements(2, 2)
    measurements.workloads[0] = sample_workload(0, size=4096.0, size_unit="rows")
    store(measurements)
    for path, key in (("platforms/", "slug"), ("workloads/", "slug"), ("profiles/", "id")):
        for row in get(path)["results"]:
            shown = get(f"{path}{row[key]}/")
            for detail, empty in (("roofline", None), ("differences", []), ("load", None), ("prices", [])):
                assert shown.pop(detail, empty) == empty
            assert not {"placement", "limits", "spread"} & set(row)
            for detail in ("placement", "limits", "spread"):  # of a platform, of a profile
                shown.pop(detail, None)
            assert shown == row
    # A placement of 65,536 threads would be half a megabyte in every row that has it.
    assert get("platforms/machine-0/")["placement"] == list(range(16))
    assert b"placement" not in read(client_of().get(API + "platforms/?format=csv"))
    sizes = [(row["slug"], row["size"], row["size_unit"]) for row in get("workloads/")["results"]]
    assert sizes == [("app0-section0", 4096.0, "rows"), ("app0-section1", None, None)]


def test_ceilings_are_shown_and_those_of_private_deliveries_to_their_owner_alone(ada):
    store(sample_measurements(1, 1))
    hers = sample_measurements(1, 1, seed=3, environment={"roofline": MEASURED | {"more": 1}})
    store(hers, ada, private=True, label="hers")
    assert get("platforms/machine-0/")["roofline"] is None
    shown = get("platforms/machine-0/", client_of(ada))["roofline"]
    assert shown == MEASURED | {"peak_flops": MEASURED["peak_flops"][::-1]}  # in the order of n


def test_invalid_elements_are_null_everywhere():
    """Time-only (no fractions), sequential (no elements at all), no NUMA or hyperthreads, no counters."""
    store(sample_measurements(2, 2, decomposed=False, counters=False), label="time only")
    sequential = sample_measurements(1, 1, seed=2, counters=False)
    sequential.platforms[0] = sample_platform(9, n_nu=None, n_ht=None)
    table = sequential.profiles[0].runs
    one = {name: value if value is None else value[:6] for name, value in vars(table).items()}
    sequential.profiles[0] = type(sequential.profiles[0])(platform=0, workload=0, runs=type(table)(**one))
    uid = store(sequential, label="sequential").profiles[0].uid
    Profile.objects.filter(uid=uid).update(fit_error=None, t1_s=None)
    FeatureVector.objects.exclude(profile__uid=uid).first().delete()
    shown = get(f"profiles/{uid}/")
    assert shown["features"]["values"] == [None] * 84
    assert shown["fits"]["redundancy"] == dict.fromkeys((*ELEMENTS, "rms"))
    assert (shown["fit_error"], shown["t1_s"]) == (None, None)
    rows = get("profiles/")["results"]
    assert len(rows) == 5
    assert all(None in row["features"]["values"] for row in rows)
    assert sum(row["features"]["values"] == [None] * 84 for row in rows) == 2
    csv = read(client_of().get(API + "profiles/?format=csv")).decode()
    assert not {"nan", "inf", "None"} & set(csv.replace("\r\n", ",").split(","))


FILTERED = {
    "platforms/?device_class=embedded": {"machine-1"},
    "platforms/?vendor=ACME": {"machine-1"},
    "platforms/?architecture=aarch64": {"machine-1"},
    "platforms/?microarchitecture=march1": {"machine-2"},
    "platforms/?cpu_model=Small%20CPU": {"machine-1"},
    "platforms/?virtualised=true": {"machine-1"},
    "platforms/?virtualised=false": {"machine-0", "machine-2"},
    "platforms/?virtualised=": {"machine-0", "machine-1", "machine-2"},
    "platforms/?search=acme%20SMALL": {"machine-1"},
    "platforms/?search=acme%20machine-2": set(),
    "workloads/?application=APP1": {"app1-section0", "app1-section1"},
    "workloads/?strategy=wavefront": {"app1-section1"},
    "workloads/?bound=memory": {"app0-section0", "app1-section0"},
    "workloads/?runtime=libgomp": {"app0-section1"},
}


def test_filters_and_search():
    measurements = sample_measurements(3, 4)
    measurements.platforms[1] = sample_platform(
        1, device_class="embedded", vendor="Acme", architecture="aarch64", cpu_model="Small CPU", virtualised=True
    )
    measurements.workloads[1] = sample_workload(1, runtime="libgomp")
    store(measurements)
    assert {query: {row["slug"] for row in get(query)["results"]} for query in FILTERED} == FILTERED


def test_rows_say_of_which_origin_their_profiles_are():
    store(sample_measurements(2, 2))
    store(sample_measurements(1, 1, origin="simulated", seed=3), label="simulated")
    store(replace(secret_measurements(), origin="simulated"), label="another")
    origins = {row["slug"]: row["origin"] for row in get("platforms/")["results"]}
    assert origins == {"machine-0": "mixed", "machine-1": "measured", "secret-machine": "simulated"}
    assert {row["origin"] for row in get("workloads/")["results"]} == {"mixed", "measured", "simulated"}
    Profile.objects.filter(platform__slug="machine-1").delete()
    assert get("platforms/machine-1/")["origin"] is None
    csv = read(client_of().get(API + "platforms/?format=csv")).decode()
    assert "simulated" in csv


def test_queries_of_a_list(django_assert_num_queries):
    """However many rows: 1 revision (for the ETag), 2 count, 3 the page with all that is joined to it; of profiles,
    which are many, the keys of the page before."""
    store(sample_measurements(3, 4))
    client = client_of()
    for path, queries in (("platforms/", 3), ("workloads/", 3), ("profiles/", 4)):
        with django_assert_num_queries(queries):
            client.get(API + path)
        with django_assert_num_queries(3):  # 1 revision, 2 whether there are too many rows, 3 the rows
            read(client.get(API + path + "?format=csv"))


def test_queries_of_one_row(django_assert_num_queries):
    """1 the row with all that is joined to it, 2 revision; of platforms and workloads 3 what deliveries say otherwise;
    of a platform 4 its ceilings, 5 how many runs were disturbed, 6 its prices; of a profile 3 its runs, 4 the
    ceilings of its platform, beside which it is told what limits it."""
    profile = store(sample_measurements(1, 1)).profiles[0]
    client = client_of()
    for path, queries in (
        (f"platforms/{profile.platform.slug}/", 6),
        (f"workloads/{profile.workload.slug}/", 3),
        (f"profiles/{profile.uid}/", 4),
    ):
        with django_assert_num_queries(queries):
            client.get(API + path)


def test_queries_of_an_unchanged_list_with_a_token(django_assert_num_queries, ada):
    """1 token with its user, 2 revision, 3 own prices; the first use of a token is noted, the next ones are not."""
    store(sample_measurements(3, 4))
    client = client_of(ada)
    etag = client.get(API + "profiles/")["ETag"]
    with django_assert_num_queries(3):
        assert client.get(API + "profiles/", HTTP_IF_NONE_MATCH=etag).status_code == 304
    # One page counts the profiles of its own rows only.
    with django_assert_num_queries(3) as captured:
        client_of().get(API + "platforms/?page_size=1")
    outer = captured.captured_queries[-1]["sql"].rsplit('FROM "profiles_platform"', 1)[1]
    assert "LIMIT 1" in outer and "GROUP BY" not in outer and "JOIN" not in outer


def test_what_limits_a_profile_is_what_its_page_says():
    profile = store(sample_measurements(1, 1)).profiles[0]
    limits = get(f"profiles/{profile.uid}/")["limits"]
    assert set(limits) == {"sentences", "bottlenecks", "bound"}
    page = text_of(Client().get(f"/profiles/{profile.uid}/"))
    assert limits["sentences"]
    assert all(escape(sentence) in page for sentence in limits["sentences"])


def test_csv_of_profiles_reads_only_its_own_columns():
    """The texts of platforms, workloads and sources made up a third of the time."""
    store(sample_measurements(2, 2))
    with CaptureQueriesContext(connection) as queries:
        lines = read(client_of().get(API + "profiles/?format=csv")).decode().splitlines()
    assert len(lines) == 1 + 4
    (rows,) = [query["sql"] for query in queries if "fit_error" in query["sql"]]
    assert not any(name in rows for name in ("placement", "environment", "citation", "description"))
    assert len(queries) < 8  # and no row needs another query
