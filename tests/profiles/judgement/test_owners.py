"""Whose measurement of a pair counts where several owners measured it: docs/decisions/representative-profile.md."""

from dataclasses import replace

import numpy as np
import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from accounts.mails import confirm_address
from profiles.ingest.publication import publish_source
from profiles.ingest.withdrawal import withdraw
from profiles.judgement.outliers import judge_all_pairs, keep_verdicts, own_reasons
from profiles.judgement.owners import contested_pairs, is_established, judge_pairs
from profiles.models import Platform, Profile, Revision, VerdictChange
from profiles.moderation import Decision, judge, merge, set_hidden, undo
from tests.owners import new_account, old_account
from tests.predictor.conftest import store
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
COUNTS, SECOND, DIFFERS = ("", ""), "second", "differs"


def slower(measurements, factor):
    """The same with all times that many times as long. The factor may depend on the thread counts."""
    profiles = []
    for profile in measurements.profiles:
        runs = profile.runs
        factors = factor(runs.n) if callable(factor) else np.full(len(runs), factor)
        time_ns = (runs.time_ns * factors).astype(np.int64)
        parts = np.where(runs.parts_ns < 0, -1, (runs.parts_ns * factors[:, None]).astype(np.int64))
        parts[:, 0] += np.where(runs.is_profile_pass, runs.n * time_ns - parts.sum(axis=1), 0)
        profiles.append(replace(profile, runs=replace(runs, time_ns=time_ns, time_s=time_ns / 1e9, parts_ns=parts)))
    return replace(measurements, profiles=profiles)


def measure(owner, factor=1.0, label="", decomposed=True, **how):
    """The delivery of an owner who measured machine-0 and found it that much slower than it is."""
    name = label or (owner.username if owner else "operator")
    measurements = slower(sample_measurements(1, 1, decomposed=decomposed), factor)
    return store(measurements, label=name, owner=owner, **how).source


def verdict(source):
    profile = source.profiles.get(platform__name="machine-0")
    return profile.outlier_reason, profile.outlier_judge


def verdicts(*sources):
    return [verdict(source)[1] or "counts" for source in sources]


@pytest.fixture
def ada():
    return old_account("ada")


@pytest.fixture
def bob():
    return old_account("bob")


@pytest.fixture
def cyd():
    return old_account("cyd")


@pytest.fixture
def pair(ada, bob):
    """Two measurements that differ: the first counts."""
    return measure(ada), measure(bob, 0.2)


def grow_old(account, like):
    get_user_model().objects.filter(pk=account.pk).update(date_joined=like.date_joined)
    confirm_address(account)


class TestEstablished:
    @pytest.mark.parametrize(("days", "expected"), [(29, False), (31, True)])
    def test_after_a_while(self, days, expected):
        assert is_established(old_account("ada", days)) is expected

    def test_with_a_confirmed_address(self, ada):
        ada.email = "another@example.org"
        assert not is_established(ada)
        confirm_address(ada)
        assert is_established(ada)

    def test_the_operator_and_moderators(self):
        moderator = get_user_model().objects.create_user("moderator", is_staff=True)
        assert not is_established(moderator)
        moderator.user_permissions.add(Permission.objects.get(codename="change_platform"))
        assert is_established(get_user_model().objects.get(pk=moderator.pk))
        assert is_established(None)

    def test_where_no_account_is_new(self, settings):
        settings.NEW_ACCOUNT_DAYS = 0.0
        assert is_established(new_account("ada"))


class TestTwoOwners:
    @pytest.mark.parametrize(("factor", "judge"), [(1.1, SECOND), (0.2, DIFFERS), (5.0, DIFFERS)])
    def test_the_first_one_counts(self, ada, bob, factor, judge):
        assert verdicts(measure(ada), measure(bob, factor)) == ["counts", judge]

    def test_it_says_why(self, ada, bob):
        measure(ada)
        assert verdict(measure(bob, 1.1))[0] == "another owner's measurement of the same pair is used"
        differing = verdict(measure(bob, 0.2, "again"))
        assert differing == ("0.2 times the time of another owner's measurement of the same pair", DIFFERS)

    def test_who_measured_again_is_still_the_first(self, ada, bob):
        sources = measure(ada), measure(bob, 1.1), measure(ada, 1.2, "again")
        assert verdicts(*sources) == ["counts", SECOND, "counts"]

    def test_a_new_accounts_counts_where_there_is_no_other_and_is_displaced(self, ada):
        first = measure(new_account("eve"), 1.1)
        assert verdict(first) == COUNTS
        assert verdicts(first, measure(ada)) == [SECOND, "counts"]

    def test_what_new_accounts_say_is_known_by_their_age_at_the_time(self, ada):
        eve = new_account("eve")
        early = measure(eve, 1.1)
        grow_old(eve, like=ada)
        assert verdicts(early, measure(ada)) == [SECOND, "counts"]

    def test_the_first_is_who_published_first(self, ada, bob):
        early = measure(ada, private=True)
        public = measure(bob, 1.1)
        publish_source(early)
        assert verdicts(early, public) == [SECOND, "counts"]

    def test_who_publishes_is_new_or_not_at_that_time(self, ada):
        eve = new_account("eve")
        early = measure(eve, private=True)
        grow_old(eve, like=ada)
        early.private_to.refresh_from_db()
        publish_source(early)
        assert verdicts(early, measure(ada)) == ["counts", SECOND]

    def test_private_measurements_do_not_matter(self, ada, bob):
        assert verdicts(measure(ada, private=True), measure(bob, 0.2)) == ["counts", "counts"]

    def test_what_varies_as_much_does_not_differ(self, ada, bob):
        first = measure(ada)
        first.profiles.update(standard_error=0.6)
        assert verdict(measure(bob, 0.2))[1] == SECOND

    def test_a_bent_curve_differs(self, ada, bob):
        measure(ada)
        assert verdict(measure(bob, lambda n: np.where(n > 1, 0.2, 1.0)))[1] == DIFFERS

    def test_time_alone_is_no_alternative_to_what_is_decomposed_but_has_to_agree(self, ada, bob, cyd):
        measure(ada)
        fair, wrong = measure(bob, decomposed=False), measure(cyd, 0.2, decomposed=False)
        assert verdicts(fair, wrong) == ["counts", DIFFERS]


class TestMoreOwners:
    def test_the_one_nearest_the_median_counts(self, ada, bob, cyd):
        sources = measure(ada, 1.0), measure(bob, 1.2), measure(cyd, 1.1)
        assert verdicts(*sources) == [SECOND, SECOND, "counts"]

    def test_a_third_agrees(self, pair, cyd):
        assert verdicts(*pair) == ["counts", DIFFERS]
        assert verdicts(*pair, measure(cyd, 0.21)) == [DIFFERS, SECOND, "counts"]

    def test_new_accounts_are_no_third(self, pair):
        assert verdicts(*pair, *(measure(new_account(f"eve{i}"), 0.2) for i in range(10))) == [
            "counts",
            *[DIFFERS] * 11,
        ]

    def test_ten_new_accounts_displace_no_new_one(self):
        sources = [measure(new_account(f"eve{i}"), 0.2 if i else 1.0) for i in range(10)]
        assert verdicts(*sources) == ["counts", *[DIFFERS] * 9]

    def test_an_owner_has_one_vote(self, ada, bob):
        sources = measure(ada), *(measure(bob, 0.2 + i / 1000, f"bob{i}") for i in range(4))
        assert verdicts(*sources) == ["counts", *[DIFFERS] * 4]

    def test_nor_do_two_measurements_of_one_owner_contradict_another(self, ada, bob):
        first = measure(ada)
        for i in range(3):
            measure(bob, 0.2, f"bob{i}")
        for i in range(3):
            measure(new_account(f"eve{i}"), 0.2)
        assert own_reasons(list(first.profiles.select_related("platform", "workload"))) == {}

    def test_of_the_same_distance_the_first_counts(self, ada, bob, cyd):
        dan = old_account("dan")
        sources = measure(ada, 1.3), measure(bob, 1.2), measure(cyd, 1.1), measure(dan, 1.0)
        assert verdicts(*sources) == [SECOND, "counts", SECOND, SECOND]


class TestWhatHappensLater:
    def test_a_moderator_agrees_and_takes_it_back(self, pair):
        before = [verdict(source) for source in pair]
        decision = Decision(get_user_model().objects.create_user("moderator"), "a new compiler")
        entry = judge(pair[1].profiles.get(), "", decision)
        assert [verdict(source) for source in pair] == [
            ("5 times the time of another owner's measurement of the same pair", DIFFERS),
            ("", "moderator"),
        ]
        undo(entry, decision)
        assert [verdict(source) for source in pair] == before
        assert keep_verdicts(list(pair[1].profiles.all()), {}, 1) == 0, "another judgement does not clear it"
        assert verdict(pair[1])[1] == DIFFERS

    def test_the_first_is_hidden_and_shown_again_and_withdrawn(self, pair):
        first, second = pair
        set_hidden(first, True)
        assert verdict(second) == COUNTS
        first.refresh_from_db()
        set_hidden(first, False)
        assert verdicts(first, second) == ["counts", DIFFERS]
        withdraw(type(first).objects.filter(pk=first.pk))
        assert verdict(second) == COUNTS

    def test_the_first_is_found_to_be_an_outlier(self, ada, bob):
        first, second = measure(ada), measure(bob, 1.1)
        profiles = list(first.profiles.all())
        keep_verdicts(profiles, {profiles[0].pk: "far off"}, 1)
        assert [verdict(source) for source in (first, second)] == [("far off", "computed"), COUNTS]
        keep_verdicts(profiles, {}, 1)
        assert verdicts(first, second) == ["counts", SECOND]

    def test_two_platforms_turn_out_to_be_one(self, ada, bob):
        first = measure(ada)
        whole = sample_measurements(1, 1)
        whole.platforms[0] = replace(whole.platforms[0], name="twin", kernel="Linux 6.12")
        second = store(slower(whole, 0.2), label="twin", owner=bob).source
        assert second.profiles.get().outlier_judge == ""
        twin, kept = Platform.objects.get(name="twin"), first.profiles.get().platform
        entry, _ = merge(twin, kept, Decision(None, "one machine"))
        assert second.profiles.get().outlier_judge == DIFFERS
        undo(entry, Decision(None, "two machines"))
        assert second.profiles.get().outlier_judge == ""

    def test_rows_from_before_are_judged_on_demand(self, pair):
        first, second = pair
        Profile.objects.update(outlier_reason="", outlier_judge="")
        revision = Revision.current()
        assert judge_all_pairs() == 1
        assert verdicts(first, second) == ["counts", DIFFERS]
        assert Revision.current() != revision
        assert judge_all_pairs() == 0


def test_what_is_displaced_is_noted_for_snapshots_and_an_upload_that_displaces_nothing_only_adds(ada, bob):
    first = measure(new_account("eve"))
    measure(ada)
    assert VerdictChange.objects.get().profiles == [first.profiles.get().pk]
    oldest = Revision.oldest()
    measure(bob, 0.2)
    assert (Revision.oldest(), VerdictChange.objects.count()) == (oldest, 1)


def test_a_delivery_that_nobody_contests_costs_one_query_more(ada, django_assert_num_queries):
    source = measure(ada)
    with django_assert_num_queries(1):
        assert judge_pairs(contested_pairs(source.profiles.all())) == set()
