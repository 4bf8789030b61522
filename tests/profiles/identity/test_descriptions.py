"""Whose delivery changes what is known of a platform or workload, and what becomes of what the others say.

trust 11: anybody's upload filled unknown fields of public platforms, and they stayed after a moderator hid the upload.
"""

from dataclasses import replace

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext

from profiles.identity.descriptions import DIFFERENCES_SHOWN, differences_of
from profiles.models import Platform, PlatformDescription, Revision, Source, Workload
from profiles.moderation import Decision, decide, leave, merge_platforms, set_hidden
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform, sample_workload

pytestmark = pytest.mark.django_db
UNKNOWN = {"vendor": None, "max_mhz": None, "memory_bytes": None}
VANDAL = {"vendor": "VANDAL <b>", "max_mhz": 1e5, "memory_bytes": 7, "n_max": 64}
SECOND = "predictions do not use 1 of the pairs: another owner's measurements of them are used instead"
DECISION = Decision(None, "found in a test")
FACTS = ("vendor", "max_mhz", "memory_bytes", "n_max")


@pytest.fixture
def moderator():
    user = get_user_model().objects.create_user("moderator", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_platform"))
    return user


def describe(owner=None, *, private=False, workload=None, **fields):
    """A delivery that says this of machine-0."""
    return deliver(
        measured([sample_platform(**fields)], [sample_workload(**(workload or {}))]), owner=owner, private=private
    )


def facts() -> tuple:
    platform = Platform.objects.get()
    return tuple(getattr(platform, name) for name in FACTS)


def differing(user=None) -> list[tuple]:
    return [(found.field, found.here, found.value) for found in differences_of(Platform.objects.get(), user)]


def test_nobody_elses_upload_fills_or_raises_anything(alice, bob):
    """trust 11"""
    describe(alice, **UNKNOWN)
    result = describe(bob, **VANDAL)
    assert facts() == (None, None, None, 16)
    assert result.warnings == [
        "platform 'machine-0' keeps its stored properties: vendor is unknown here and 'VANDAL <b>' in the upload; "
        "n_max is 16 here and 64 in the upload; max_mhz is unknown here and 100000.0 in the upload; "
        "memory_bytes is unknown here and 7 in the upload",
        SECOND,
    ]


def test_what_a_hidden_upload_said_goes_and_comes_back(alice, bob):
    """trust 11"""
    vandal = describe(alice, **VANDAL).source
    describe(bob, vendor=None, memory_bytes=9)
    set_hidden(vandal, True)
    assert facts() == (None, 3000.0, 9, 16)
    assert differing() == []
    describe(bob, vendor="Example")
    assert facts() == ("Example", 3000.0, 32 << 30, 16)
    set_hidden(vandal, False)
    assert facts() == ("VANDAL <b>", 1e5, 7, 64)
    assert ("vendor", "VANDAL <b>", "Example") in differing()


def test_a_platform_all_of_whose_deliveries_were_hidden_is_described_anew(alice, bob):
    """trust 11"""
    set_hidden(describe(alice, **VANDAL).source, True)
    describe(bob, **UNKNOWN)
    assert facts() == (None, None, None, 16)
    assert Platform.objects.get().facts_by == f"user:{bob.pk}"


def test_the_first_owner_fills_and_corrects(alice, bob):
    describe(alice, vendor=None, max_mhz=2500.0, n_max=8)
    describe(bob)
    result = describe(alice, vendor="Example", max_mhz=2600.0)
    assert facts() == ("Example", 2600.0, 32 << 30, 16)
    assert result.warnings == ["platform 'machine-0' was corrected: max_mhz was 2500.0 and is now 2600.0"]
    assert differing() == [("max_mhz", 2600.0, 3000.0), ("max_mhz", 2600.0, 2500.0)]


def test_unknown_corrects_nothing_and_fewer_threads_neither(alice):
    describe(alice)
    assert describe(alice, vendor=None, n_max=4).warnings == []
    assert facts() == ("Example", 3000.0, 32 << 30, 16)
    assert differing() == []


def test_another_compiler_is_the_deliverys_and_no_difference(alice, bob):
    describe(alice, compiler="g++ 12", kernel="Linux 5")
    assert describe(bob, compiler="clang 19", kernel="Linux 6", compiler_flags="-O3").warnings == [SECOND]
    assert describe(alice, compiler="g++ 15").warnings == []
    assert differing() == []
    assert Platform.objects.get().compiler == "g++ 15"
    told = [description.facts["compiler"] for description in PlatformDescription.objects.order_by("pk")]
    assert told == ["g++ 12", "clang 19", "g++ 15"]


@pytest.mark.parametrize("speaker", ["the operator", "a moderator"])
def test_the_operator_and_moderators_take_over(speaker, alice, moderator):
    describe(alice, vendor="Alice", memory_bytes=5, n_max=32)
    describe(moderator if speaker == "a moderator" else None, vendor="Example", memory_bytes=None, n_max=16)
    describe(alice, vendor="Alice", max_mhz=9.0, n_max=32)
    assert facts() == ("Example", 3000.0, 5, 16)
    assert ("vendor", "Example", "Alice") in differing()


def test_what_a_moderator_decided_stands_above_all_deliveries(alice, bob):
    source = describe(alice, vendor="Alice").source
    before = Revision.current()[0]
    decide(Platform.objects.get(), {"vendor": "Example", "max_mhz": None, "n_max": 12}, DECISION)
    assert Revision.current()[0] == before + 1
    result = describe(alice, vendor="Alice", memory_bytes=5)
    assert "vendor is 'Example' here and 'Alice' in the upload" in result.warnings[1]
    describe(None, vendor="Operator")
    set_hidden(source, True)
    assert facts() == ("Example", None, 32 << 30, 12)
    leave(Platform.objects.get(), DECISION)
    assert facts() == ("Operator", 3000.0, 32 << 30, 16)


def test_only_facts_can_be_decided():
    describe()
    for name in ("slug", "compiler", "private_to"):
        with pytest.raises(ValueError, match=f"unknown facts of a platform: {name}"):
            decide(Platform.objects.get(), {name: "x"}, DECISION)


def test_workloads_are_told_by_the_same_rule(alice, bob):
    """trust 11"""
    first = describe(alice, workload={"description": None, "bound": None, "strategy": "unknown", "size": None}).source
    other = {"description": "<b>", "bound": "computation", "strategy": "locks", "size": 5.0}
    result = describe(bob, workload=other)
    columns = ("description", "bound", "strategy", "size")
    assert Workload.objects.values_list(*columns).get() == (None, None, "unknown", None)
    assert "size is unknown here and 5.0 in the upload" in result.warnings[0]
    found = [(one.field, one.value) for one in differences_of(Workload.objects.get(), None)]
    assert sorted(found) == sorted(other.items())
    set_hidden(first, True)
    assert Workload.objects.values_list(*columns).get() == tuple(other.values())


def test_an_account_that_is_gone_still_was_the_first_and_becomes_nobody_else_nor_the_operator(alice, bob):
    describe(alice, vendor="Alice")
    second = describe(alice, vendor="Alice 2").source.pk
    describe(bob, vendor="Bob")
    alice.delete()
    assert set(Source.objects.values_list("owner", flat=True)) == {None, bob.pk}
    describe(bob, vendor="Bob")
    assert facts()[0] == "Alice 2"
    bob.delete()
    set_hidden(Source.objects.get(pk=second), True)
    assert facts()[0] == "Alice"


def test_a_private_delivery_tells_its_owner_alone_what_differs(alice, bob):
    describe(alice, **UNKNOWN)
    result = describe(alice, private=True, **VANDAL)
    assert "vendor is unknown here" in result.warnings[0]
    assert facts() == (None, None, None, 16)
    assert differing() == differing(bob) == []
    assert ("vendor", None, "VANDAL <b>") in differing(alice)


def test_private_descriptions_move_to_the_public_row_and_are_compared_with_it(alice):
    describe(alice, private=True, vendor="Secret")
    describe(vendor=None)
    assert (facts()[0], differing(), differing(alice)) == (None, [], [("vendor", None, "Secret")])


def test_the_facts_of_merged_platforms_are_told_anew(alice, bob):
    first = deliver(measured([sample_platform(1, cpu_model="cpu", vendor="Alice", memory_bytes=None)]), owner=alice)
    second = deliver(measured([sample_platform(2, cpu_model="cpu", vendor="Bob", n_max=64)], seed=2), owner=bob)
    kept, duplicate = second.profiles[0].platform, first.profiles[0].platform
    merge_platforms(duplicate, kept)
    assert (kept.vendor, kept.memory_bytes, kept.n_max) == ("Alice", None, 16)
    assert {found.field for found in differences_of(kept, None)} >= {"vendor", "memory_bytes", "n_max"}
    set_hidden(first.source, True)
    kept.refresh_from_db()
    assert (kept.vendor, kept.memory_bytes, kept.n_max) == ("Bob", 32 << 30, 64)


def test_differences_are_short_and_few(alice, bob):
    describe(alice, placement=None, vendor=None)
    for number in range(DIFFERENCES_SHOWN + 5):
        describe(bob, vendor=f"{number:02} " + "x" * 90, placement=tuple(reversed(range(16))))
    found = differences_of(Platform.objects.get(), None)
    assert len(found) == DIFFERENCES_SHOWN
    texts = {one.field: one.value for one in found}
    assert texts["placement"] == "15, 14, 13, 12, 11, 10, 9, 8, ..., 0 (16 of them)"
    assert len(texts["vendor"]) == 80
    assert max(len(one.sources) for one in found) == DIFFERENCES_SHOWN + 5


def test_the_order_of_deliveries_decides_and_telling_anew_changes_nothing(alice, bob):
    """Each delivery in turn leaves the facts that telling them anew gives."""
    for owner, vendor in ((alice, "A"), (bob, "B"), (alice, "A2"), (None, "O"), (alice, "A3"), (None, None)):
        source = describe(owner, vendor=vendor, n_max=8 + len(vendor or "")).source
        before = (*facts(), Platform.objects.get().facts_by, differing())
        set_hidden(source, False)
        assert (*facts(), Platform.objects.get().facts_by, differing()) == before


def test_matching_and_describing_take_as_many_queries_for_few_as_for_many(alice, bob):
    describe()  # the workload
    queries = []
    for size in (2, 60):
        names, counts = [f"{size}-{index}" for index in range(size)], []
        for owner in (alice, bob):
            platforms = [sample_platform(name=name, vendor=owner.username) for name in names]
            delivery = measured(platforms)
            delivery = replace(delivery, profiles=delivery.profiles[:1])
            with CaptureQueriesContext(connection) as captured:
                source = deliver(delivery, owner=owner).source
            counts.append(len([query for query in captured if not query["sql"].startswith("INSERT")]))
        with CaptureQueriesContext(connection) as hiding:
            set_hidden(source, True)
        queries.append((*counts, len(hiding)))
    assert queries[0] == queries[1]
