"""What a private delivery could give away, and does not.

Ways out that are tried here: the public rows themselves (columns, n_max), slugs, the number of rows in any public list,
warnings and refusals that name private rows, the public revision, the order of public primary keys that a page could
show (nothing shows them; uids are random), the answer to the same bytes from somebody else, and what a public delivery
answers when somebody has the same thing privately.
"""

import re

import pytest

from profiles.models import Platform, Profile, Revision, Source, Workload
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform, sample_workload

pytestmark = pytest.mark.django_db


def public_view(user=None) -> dict[str, list[dict]]:
    """All that a viewer can read, less what only counts rows in the order in which they came."""
    models, hidden = (Source, Platform, Workload, Profile), "id|.*_id|uid|created_at|lease_until"
    found = {model.__name__: model.objects.visible_to(user).order_by("pk").values() for model in models}
    return {
        model: [{name: value for name, value in row.items() if not re.fullmatch(hidden, name)} for row in rows]
        for model, rows in found.items()
    }


def everything_of_alice(alice):
    """A private delivery with one public platform and workload, enriched, and one that nobody else has."""
    return deliver(
        measured(
            [sample_platform(0, vendor="Secret", n_max=16), sample_platform(6, name="secret box")],
            [sample_workload(0, bound="computation"), sample_workload(6, name="secret code")],
            seed=5,
        ),
        owner=alice,
        private=True,
    )


def test_a_private_delivery_changes_nothing_for_others(alice, bob):
    deliver(measured([sample_platform(0, vendor=None, n_max=8)], [sample_workload(0, bound=None)]))
    before, revision = public_view(), Revision.current(bob)
    everything_of_alice(alice)
    assert public_view() == before
    assert public_view(bob) == before
    assert Revision.current(bob) == revision
    assert Revision.current() == revision
    assert Revision.current(alice) == (revision[0], 1)


def test_the_owner_sees_it_on_public_rows_first(alice):
    public = deliver().profiles[0]
    mine = everything_of_alice(alice)
    assert mine.profiles[0].platform == public.platform
    assert mine.profiles[0].workload == public.workload
    assert Profile.objects.visible_to(alice).count() == 5
    assert Platform.objects.visible_to(alice).count() == 2
    assert Platform.objects.get(name="secret box").private_to == alice


SECRET = "secret box"


@pytest.mark.parametrize("name", [SECRET, "SECRET-BOX", "secret bax"], ids=["same", "same spelling", "near miss"])
def test_a_public_delivery_answers_as_if_there_were_nothing_private(alice, bob, name):
    platform, workload = sample_platform(6, name=name), sample_workload(6, name=name)
    expected = public_after(platform, workload, bob)
    private = measured([sample_platform(6, name=SECRET)], [sample_workload(6, name=SECRET)])
    deliver(private, owner=alice, private=True)
    assert public_after(platform, workload, bob) == expected


def public_after(platform, workload, owner):
    """What a public delivery answers and leaves; removed again."""
    result = deliver(measured([platform], [workload]), sha256="c" * 64, owner=owner)
    seen = (result.warnings, public_view(), [profile.platform.slug for profile in result.profiles], Revision.current())
    if not Platform.objects.filter(private_to__isnull=False).exists():
        for model in (Source, Platform, Workload, Revision):
            model.objects.all().delete()
    return seen


def test_another_owners_private_delivery_matches_nothing_of_mine(alice, bob):
    everything_of_alice(alice)
    result = deliver(
        measured([sample_platform(6, name="secret box")], [sample_workload(6, name="secret coda")]),
        owner=bob,
        private=True,
    )
    assert result.warnings == []
    assert result.profiles[0].platform.private_to == bob
    assert Platform.objects.filter(name="secret box").count() == 2


def test_other_times_of_a_private_workload_are_not_refused_to_others_and_it_stays_usable(alice):
    deliver(measured(time_kinds={0: "relative"}), owner=alice, private=True)
    deliver()
    kinds = set(Workload.objects.values_list("time_kind", "private_to"))
    assert kinds == {("relative", alice.pk), ("absolute", None)}
    again = deliver(measured(time_kinds={0: "relative"}), owner=alice, private=True)
    assert again.profiles[0].workload.private_to == alice


def test_private_slugs_cannot_be_guessed_nor_taken_away(alice):
    everything_of_alice(alice)
    slug = Platform.objects.get(name="secret box").slug
    assert slug.startswith("secret-box-")
    assert len(slug) == len("secret-box-") + 16
    deliver(measured([sample_platform(7, name=slug)]), owner=alice)
    assert Platform.objects.get(name=slug).slug == slug
    assert Platform.objects.get(name="secret box").slug != slug
    deliver(measured([sample_platform(name="x" * 200)]), owner=alice, private=True)
    assert len(Platform.objects.get(name="x" * 200).slug) <= 200


def test_private_rows_move_to_the_same_public_row_when_there_is_one(alice, bob):
    private = deliver(owner=alice, private=True)
    others = deliver(owner=bob, private=True)
    public = deliver()
    assert Platform.objects.count() == Workload.objects.count() == 1
    assert Platform.objects.get().slug == "machine-0"
    assert Platform.objects.get().private_to is None
    for moved in (private.profiles[0], others.profiles[0]):
        moved.refresh_from_db()
        assert moved.platform == public.profiles[0].platform
        assert moved.workload == public.profiles[0].workload
        assert moved.private_to is not None
    assert public.warnings == []
    assert Profile.objects.public().count() == 1


def test_the_same_bytes_of_somebody_else_are_not_given_away(alice, bob):
    deliver(sha256="a" * 64, owner=alice, private=True)
    result = deliver(sha256="a" * 64, owner=bob)
    assert not result.existing
    assert result.warnings == []


def test_deleting_the_owner_deletes_what_was_private(alice):
    deliver()
    everything_of_alice(alice)
    alice.delete()
    assert Profile.objects.count() == Platform.objects.count() == Workload.objects.count() == 1
