"""Which platforms and workloads a delivery is taken for (profiles.identity.matching)."""

import hashlib
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
from profiles.ingest.service import IngestError, ingest
from profiles.models import Platform, Profile, Source, Workload
from tests.benchmarks.tarballs import good_files, pack, with_manifest
from tests.pages import user
from tests.profiles.deliveries import deliver, measured, stored_counts
from tests.samples import sample_measurements, sample_platform, sample_workload

pytestmark = pytest.mark.django_db
IDENTIFYING = (*IDENTIFYING_PLATFORM_TEXTS, *TOPOLOGY_COLUMNS)
LAPTOP, SERVER = ("a" * 64, "b" * 64)


def test_the_same_description_is_the_same_row():
    first, second = deliver(), deliver()
    assert second.warnings == []
    assert Platform.objects.count() == Workload.objects.count() == 1
    assert first.profiles[0].platform == second.profiles[0].platform
    assert Profile.objects.count() == 2


def test_unicode_forms_and_spaces_are_the_same_description():
    deliver(measured([sample_platform(name="Caf\u00e9  box")]))
    result = deliver(measured([sample_platform(name=" Cafe\u0301 box ")]))
    assert result.warnings == []
    assert Platform.objects.get().name == "Caf\u00e9 box"


def test_another_spelling_is_taken_for_the_existing_row_and_said():
    deliver(measured([sample_platform(cpu_model="Xeon E5-2630 v3")]))
    result = deliver(measured([sample_platform(cpu_model="Intel(R) Xeon E5-2630 V3".replace("Intel(R) ", ""))]))
    assert Platform.objects.count() == 1
    assert result.warnings == [
        "'machine-0 cpu_model Xeon E5-2630 V3' was taken for the existing platform "
        "'machine-0 cpu_model Xeon E5-2630 v3'"
    ]
    assert Platform.objects.get().cpu_model == "Xeon E5-2630 v3"


def test_another_spelling_of_a_workload():
    deliver(measured(workloads=[sample_workload(name="Jacobi 2D")]))
    result = deliver(measured(workloads=[sample_workload(name="jacobi-2d")]))
    assert Workload.objects.count() == 1
    assert result.warnings == ["'jacobi-2d' was taken for the existing workload 'Jacobi 2D'"]


def test_exact_description_comes_before_spelling():
    deliver(measured([sample_platform(name="box"), sample_platform(name="BOX")]))
    assert Platform.objects.count() == 2
    result = deliver(measured([sample_platform(name="BOX")]))
    assert result.warnings == []
    assert result.profiles[0].platform.name == "BOX"


def test_two_of_one_delivery_never_become_one_row():
    deliver(measured([sample_platform(name="box")]))
    result = deliver(measured([sample_platform(name="Box"), sample_platform(name="BOX")]))
    assert {profile.platform.name for profile in result.profiles} == {"box", "BOX"}
    assert Platform.objects.count() == 2


def test_a_near_miss_is_new_and_said():
    deliver(measured([sample_platform(name="computing-node")]))
    result = deliver(measured([sample_platform(name="computing-nude")]))
    assert Platform.objects.count() == 2
    assert result.warnings == ["platform 'computing-nude' is new, but looks like the existing 'computing-node'"]


@pytest.mark.parametrize(
    "fields", [{"name": "computing-node-2"}, {"name": "computing-nude", "threads": 32}, {"name": "toaster"}]
)
def test_not_a_near_miss(fields):
    deliver(measured([sample_platform(name="computing-node-1")]))
    assert deliver(measured([sample_platform(**fields)])).warnings == []
    assert Platform.objects.count() == 2


def test_near_miss_of_a_workload_needs_the_same_version_and_input():
    deliver(measured(workloads=[sample_workload(name="stencil/jacobi")]))
    same = deliver(measured(workloads=[sample_workload(name="stencil/jacoby")]))
    assert same.warnings == ["workload 'stencil/jacoby' is new, but looks like the existing 'stencil/jacobi'"]
    assert deliver(measured(workloads=[sample_workload(name="stencil/jacobu", version="2")])).warnings == []
    assert deliver(measured(workloads=[sample_workload(name="stencil/jacobo", input="large")])).warnings == []


def test_many_near_misses_do_not_drown_the_report():
    letters = "abcdefghijklmnopqrstuvwxyz"
    deliver(measured([sample_platform(name=f"{letters}-{one}") for one in letters[:15]]))
    result = deliver(measured([sample_platform(name=f"{letters}+{one}") for one in letters[:15]]))
    assert len(result.warnings) == 11
    assert result.warnings[-1] == "and 5 more: platforms that are new but look like existing ones"


def test_notes_keep_kinds_apart():
    notes = MatchingNotes(limit=1)
    for kind, message in [("a", "a1"), ("b", "b1"), ("a", "a2")]:
        notes.add(kind, message)
    assert notes.warnings() == ["a1", "and 1 more: a", "b1"]


def test_the_operators_later_delivery_fills_and_corrects():
    deliver(measured([sample_platform(vendor=None, memory_bytes=5)]))
    result = deliver(measured([sample_platform(vendor="Example", memory_bytes=7)]))
    assert Platform.objects.values_list("vendor", "memory_bytes").get() == ("Example", 7)
    assert result.warnings == ["platform 'machine-0' was corrected: memory_bytes was 5 and is now 7"]


def test_unknown_never_replaces_known():
    deliver()
    assert deliver(measured([sample_platform(vendor=None)], [sample_workload(strategy="unknown")])).warnings == []
    assert Platform.objects.get().vendor == "Example"
    assert Workload.objects.get().strategy == "domain_decomposition"


def test_an_unknown_strategy_is_filled():
    deliver(measured(workloads=[sample_workload(strategy="unknown", bound=None)]))
    assert deliver(measured(workloads=[sample_workload(strategy="locks")])).warnings == []
    assert (Workload.objects.get().strategy, Workload.objects.get().bound) == ("locks", "memory")


def test_n_max_grows_with_what_was_used():
    deliver(measured([sample_platform(n_max=8)]))
    deliver(measured([sample_platform(n_max=16)]))
    deliver(measured([sample_platform(n_max=4)]))
    assert Platform.objects.get().n_max == 16


def test_zero_megahertz_is_unknown():
    deliver(measured([sample_platform(base_mhz=0.0)]))
    assert Platform.objects.get().base_mhz is None


def test_relative_times_of_an_absolute_workload_are_refused():
    deliver()
    before = stored_counts()
    with pytest.raises(IngestError, match="known with absolute times, these are relative"):
        deliver(measured(time_kinds={0: "relative"}))
    assert stored_counts() == before


def test_relative_times_are_known_as_such():
    deliver(measured(time_kinds={0: "relative"}))
    deliver(measured(time_kinds={0: "relative"}))
    assert Workload.objects.get().time_kind == "relative"


def test_a_spelling_with_other_times_is_another_workload():
    deliver(measured(workloads=[sample_workload(name="Jacobi")]))
    deliver(measured(workloads=[sample_workload(name="jacobi")], time_kinds={0: "relative"}))
    assert set(Workload.objects.values_list("name", "time_kind")) == {("Jacobi", "absolute"), ("jacobi", "relative")}


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


def test_platforms_of_one_name_are_numbered():
    deliver(measured([sample_platform(name="box", threads=threads) for threads in (16, 32, 64)]))
    assert set(Platform.objects.values_list("slug", flat=True)) == {"box", "box-2", "box-3"}


def test_workloads_of_one_name_are_told_apart_by_version_then_input_then_number():
    variants = [("1", "s"), ("2", "s"), ("2", "m"), ("2", "l")]
    deliver(measured(workloads=[sample_workload(name="w", version=v, input=i, runtime="mpal") for v, i in variants]))
    assert set(Workload.objects.values_list("slug", flat=True)) == {"w", "w-2", "w-m", "w-l"}
    deliver(measured(workloads=[sample_workload(name="w", version="1", input="m", runtime=None)]))
    assert Workload.objects.filter(slug="w-1").exists()


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


def delivered(owner, name: str, fingerprint: str, *, private: bool = True, seed: int = 1):
    measurements = replace(
        sample_measurements(1, 1, seed=seed), platforms=[sample_platform(1, name=name)], fingerprint=fingerprint
    )
    digest = hashlib.sha256(f"{name} {fingerprint} {owner} {private} {seed}".encode()).hexdigest()
    return ingest(measurements, kind="tarball", label="t.tar.gz", sha256=digest, owner=owner, private=private)


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
    again = [delivered(ada, "host", fingerprint, seed=2).profiles[0].platform for fingerprint in (LAPTOP, SERVER)]
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
