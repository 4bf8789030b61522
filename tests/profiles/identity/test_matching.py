"""Which platforms and workloads a delivery is taken for (profiles.identity.matching)."""

import io
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.archive import ArchiveError, read_archive
from profiles.identity.matching import PLATFORM_RULES, MatchingNotes, match_rows, slug_base
from profiles.identity.spelling import IDENTIFYING_PLATFORM_TEXTS, TOPOLOGY_COLUMNS
from profiles.ingest.service import IngestError
from profiles.models import Platform, Profile, Source, Workload
from tests.benchmarks.tarballs import good_files, pack, with_manifest
from tests.pages import user
from tests.profiles.deliveries import deliver, measured, stored_counts
from tests.samples import sample_platform, sample_workload

pytestmark = pytest.mark.django_db
IDENTIFYING = (*IDENTIFYING_PLATFORM_TEXTS, *TOPOLOGY_COLUMNS)
LAPTOP, SERVER = ("a" * 64, "b" * 64)


def machine(**fields):
    return deliver(measured([sample_platform(**fields)]))


def program(**fields):
    return deliver(measured(workloads=[sample_workload(**fields)]))


def test_the_same_description_is_the_same_row():
    first, second = deliver(), deliver()
    assert second.warnings == []
    assert Platform.objects.count() == Workload.objects.count() == 1
    assert first.profiles[0].platform == second.profiles[0].platform
    assert Profile.objects.count() == 2


CPU = "machine-0 cpu_model Xeon E5-2630"
SPELLINGS = {  # what delivers it, the column, its two spellings, those of the warning
    "unicode and spaces": (machine, "name", "Caf\u00e9  box", " Cafe\u0301 box ", None),
    "cpu": (machine, "cpu_model", "Xeon E5-2630 v3", "Xeon E5-2630 V3", (f"{CPU} V3", f"{CPU} v3")),
    "workload": (program, "name", "Jacobi 2D", "jacobi-2d", ("jacobi-2d", "Jacobi 2D")),
}


@pytest.mark.parametrize("case", SPELLINGS)
def test_another_spelling_is_taken_for_the_existing_row_and_said(case):
    kind, column, first, second, said = SPELLINGS[case]
    kind(**{column: first})
    model, noun = (Platform, "platform") if kind is machine else (Workload, "workload")
    warnings = [f"{said[0]!r} was matched to the existing {noun} {said[1]!r}"] if said else []
    assert kind(**{column: second}).warnings == warnings
    assert model.objects.values_list(column, flat=True).get() == " ".join(first.split())


def test_exact_description_comes_before_spelling():
    deliver(measured([sample_platform(name="box"), sample_platform(name="BOX")]))
    assert Platform.objects.count() == 2
    result = machine(name="BOX")
    assert result.warnings == []
    assert result.profiles[0].platform.name == "BOX"


def test_two_of_one_delivery_never_become_one_row():
    machine(name="box")
    result = deliver(measured([sample_platform(name="Box"), sample_platform(name="BOX")]))
    assert {profile.platform.name for profile in result.profiles} == {"box", "BOX"}
    assert Platform.objects.count() == 2


def test_a_near_miss_is_new_and_said():
    machine(name="computing-node-1")
    for fields in ({"name": "computing-node-2"}, {"name": "computing-nude-1", "sockets": 1}, {"name": "toaster"}):
        assert machine(**fields).warnings == []
    said = machine(name="computing-nude-1").warnings
    assert said == ["platform 'computing-nude-1' is new, but looks like the existing 'computing-node-1'"]
    assert Platform.objects.count() == 5


def test_near_miss_of_a_workload_needs_the_same_version_and_input():
    program(name="stencil/jacobi")
    same = program(name="stencil/jacoby")
    assert same.warnings == ["workload 'stencil/jacoby' is new, but looks like the existing 'stencil/jacobi'"]
    assert program(name="stencil/jacobu", version="2").warnings == []
    assert program(name="stencil/jacobo", input="large").warnings == []


def test_many_near_misses_do_not_drown_the_report():
    letters = "abcdefghijklmnopqrstuvwxyz"
    deliver(measured([sample_platform(name=f"{letters}-{one}") for one in letters[:15]]))
    result = deliver(measured([sample_platform(name=f"{letters}+{one}") for one in letters[:15]]))
    assert len(result.warnings) == 11
    assert result.warnings[-1] == "and 5 more: platforms that are new but look like existing ones"


def test_an_unknown_strategy_is_filled_and_replaces_none():
    program(strategy="unknown", bound=None)
    for strategy in ("locks", "unknown"):
        assert program(strategy=strategy).warnings == []
        assert (Workload.objects.get().strategy, Workload.objects.get().bound) == ("locks", "memory")


def test_relative_times_of_an_absolute_workload_are_refused():
    deliver()
    before = stored_counts()
    with pytest.raises(IngestError, match="has absolute times, these are relative"):
        deliver(measured(time_kinds={0: "relative"}))
    assert stored_counts() == before


def test_relative_times_are_known_as_such_and_a_spelling_with_other_times_is_another_workload():
    program(name="Jacobi")
    for _ in range(2):
        deliver(measured(workloads=[sample_workload(name="jacobi")], time_kinds={0: "relative"}))
    assert sorted(Workload.objects.values_list("name", "time_kind")) == [("Jacobi", "absolute"), ("jacobi", "relative")]


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("aws/c7a.large", "aws-c7a-large"),
        ("gbm_catboost_0.1M@2020-09", "gbm_catboost_0-1m-2020-09"),
        ("Intel(R) Xeon(R) CPU @ 2.20GHz", "intelr-xeonr-cpu-2-20ghz"),
        ("漢字", "platform"),
        ("x" * 200, "x" * 190),
    ],
)
def test_slugs_are_readable(name, slug):
    assert slug_base(name, "platform") == slug


def test_rows_of_one_name_have_slugs_of_their_own():
    """Platforms are numbered; workloads are told apart by version, then input, then number."""
    deliver(measured([sample_platform(name="box", threads=threads) for threads in (16, 32, 64)]))
    assert set(Platform.objects.values_list("slug", flat=True)) == {"box", "box-2", "box-3"}
    variants = [("1", "s"), ("2", "s"), ("2", "m"), ("2", "l")]
    deliver(measured(workloads=[sample_workload(name="w", version=v, input=i, runtime="mpal") for v, i in variants]))
    program(name="w", version="1", input="m", runtime=None)
    assert set(Workload.objects.filter(name="w").values_list("slug", flat=True)) == {"w", "w-2", "w-m", "w-l", "w-1"}


def test_private_rows_of_the_owner_are_found_again_and_filled(alice):
    deliver(measured([sample_platform(vendor=None)]), owner=alice, private=True)
    deliver(owner=alice, private=True)
    platform = Platform.objects.get()
    assert platform.private_to == alice
    assert platform.vendor == "Example"
    assert Workload.objects.count() == 1


def test_hidden_and_merged_rows_take_no_query_each():
    platforms = [sample_platform(index) for index in range(30)]
    for hidden in (2, 30):
        deliver(measured(platforms[:hidden]))
    queries = []
    for size in (2, 30):
        Platform.objects.filter(name__in=[one.name for one in platforms[:size]]).update(hidden=True)
        drafts = [Platform(**{field: getattr(one, field) for field in IDENTIFYING}) for one in platforms[:size]]
        with CaptureQueriesContext(connection) as captured:
            rows = match_rows(PLATFORM_RULES, drafts, MatchingNotes())
        queries.append(len(captured))
        assert not Platform.objects.filter(hidden=True).exists()
        assert [row.name for row in rows] == [one.name for one in platforms[:size]]
    assert queries[0] == queries[1]


def delivered(owner, name: str, fingerprint: str, *, private: bool = True):
    measurements = replace(measured([sample_platform(1, name=name)]), fingerprint=fingerprint)
    return deliver(measurements, owner=owner, private=private)


@pytest.mark.parametrize("private", [True, False])
def test_the_same_hardware_of_an_owner_is_one_machine_whatever_it_is_called(ada, private):
    delivered(ada, "J3 laptop", LAPTOP, private=private)
    Source.objects.update(created_at=timezone.now() - timedelta(minutes=5, seconds=10))
    second = delivered(ada, "host-17", LAPTOP, private=private)
    assert Platform.objects.get() == second.profiles[0].platform
    assert "The same machine as J3 laptop, measured 5 minutes ago" in second.warnings


def test_other_hardware_of_the_same_name_is_another_machine(ada):
    one, other = (delivered(ada, "host", fingerprint) for fingerprint in (LAPTOP, SERVER))
    assert one.profiles[0].platform != other.profiles[0].platform
    again = [delivered(ada, "host", fingerprint).profiles[0].platform for fingerprint in (LAPTOP, SERVER)]
    assert again == [one.profiles[0].platform, other.profiles[0].platform]


def test_between_owners_the_name_decides_as_before(ada):
    first = delivered(ada, "aws/c7a.large", LAPTOP, private=False)
    bob = user("bob")
    assert delivered(bob, "aws/c7a.large", SERVER, private=False).profiles[0].platform == first.profiles[0].platform
    other = delivered(bob, "another", LAPTOP, private=False)
    assert other.profiles[0].platform != first.profiles[0].platform
    assert not [warning for warning in other.warnings if "The same machine" in warning]


def test_a_public_delivery_is_not_of_a_private_machine(ada):
    hidden = delivered(ada, "secret", LAPTOP)
    shown = delivered(ada, "shown", LAPTOP, private=False)
    assert shown.profiles[0].platform != hidden.profiles[0].platform
    assert "secret" not in str(shown.warnings)


def test_old_tarballs_have_none_and_are_matched_by_name(ada):
    names = [delivered(ada, "host", fingerprint).profiles[0].platform.pk for fingerprint in ("", LAPTOP, "")]
    assert len(set(names)) == 1


def test_only_the_owner_finds_a_machine_by_its_fingerprint(ada, client):
    machine = delivered(ada, "host", LAPTOP, private=False).profiles[0].platform
    address = f"/api/v1/platforms/?fingerprint={LAPTOP}"
    assert client.get(address).json()["results"] == []
    client.force_login(user("bob"))
    assert client.get(address).json()["results"] == []
    client.force_login(ada)
    assert [row["slug"] for row in client.get(address).json()["results"]] == [machine.slug]
    assert client.get(f"/api/v1/platforms/?fingerprint={SERVER}").json()["results"] == []


def test_a_tarball_may_have_one():
    files = good_files()
    assert read_archive(io.BytesIO(pack(with_manifest(files)))).fingerprint == ""
    assert not [text for text in read_archive(io.BytesIO(pack(with_manifest(files)))).warnings if "fingerprint" in text]
    files["platform.json"] = files["platform.json"].replace(b"{", b'{"fingerprint": "%s",' % LAPTOP.encode(), 1)
    assert read_archive(io.BytesIO(pack(with_manifest(files)))).fingerprint == LAPTOP
    files["platform.json"] = files["platform.json"].replace(LAPTOP.encode(), b"my machine")
    with pytest.raises(ArchiveError, match="fingerprint"):
        read_archive(io.BytesIO(pack(with_manifest(files))))
