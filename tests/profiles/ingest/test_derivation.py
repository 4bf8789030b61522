"""What is derived from runs can be derived again, all of it or what is stale."""

import pytest

from profiles.ingest import derivation
from profiles.ingest.derivation import profiles_to_refit, refit
from profiles.models import FeatureVector, Profile, Revision, ScalingCurves
from tests.profiles.deliveries import deliver
from tests.profiles.derived import corrupt, derived
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "fields", [{}, {"decomposed": False}, {"counters": False}, {"decomposed": False, "counters": False}]
)
def test_refit_gives_what_ingest_gave(fields):
    deliver(sample_measurements(2, 3, **fields))
    before = derived()
    corrupt(Profile.objects.all())
    assert derived() != before
    assert refit() == 6
    assert derived() == before


def test_missing_derived_rows_come_back():
    deliver(sample_measurements(1, 2))
    before = derived()
    ScalingCurves.objects.all().delete()
    FeatureVector.objects.all().delete()
    assert profiles_to_refit(only_stale=True).count() == 2
    refit(only_stale=True)
    assert derived() == before


def test_stale_leaves_the_others_alone():
    deliver(sample_measurements(2, 2))
    before = derived()
    corrupt(Profile.objects.filter(pk=Profile.objects.first().pk))
    Profile.objects.filter(pk=Profile.objects.last().pk).update(t1_s=5)
    assert refit(only_stale=True) == 1
    after = derived()
    assert after[:-1] == before[:-1]
    assert Profile.objects.last().t1_s == 5
    assert refit(only_stale=True) == 0


def test_an_interrupted_refit_keeps_whole_chunks(monkeypatch):
    monkeypatch.setattr(derivation, "PROFILES_PER_QUERY", 4)
    deliver(sample_measurements(2, 3))
    before, seen = derived(), []
    corrupt(Profile.objects.all())

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refit(progress=stop)
    assert derived()[:4] == before[:4]
    assert refit(only_stale=True) == 2
    assert derived() == before
    assert refit(progress=seen.append) == 6
    assert seen == [4, 2]


def test_revisions_are_raised_for_those_who_see_a_change(alice):
    assert refit() == 0
    deliver(sample_measurements(1, 1), owner=alice, private=True)
    refit()
    assert Revision.current() == (0, 0)
    assert Revision.current(alice) == (0, 2)
    deliver(sample_measurements(1, 2))
    refit()
    assert Revision.current(alice) == (2, 3)


def test_queries_are_by_the_chunk_not_by_the_profile(django_assert_max_num_queries):
    deliver(sample_measurements(4, 8, decomposed=False, counters=False))
    with django_assert_max_num_queries(16):
        refit()
