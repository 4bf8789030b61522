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
from profiles.judgement.owners import is_established
from profiles.models import Platform, Profile, Revision, VerdictChange
from profiles.moderation import Decision, judge, mark_outlier, merge, set_hidden, undo
from tests.owners import new_account, old_account
from tests.predictor.conftest import store
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
COUNTS, SECOND, DIFFERS = ("", ""), "second", "differs"


def slower(measurements, factor):
    """The same with all times that many times as long."""
    profiles = []
    for profile in measurements.profiles:
        runs, time_ns = profile.runs, (profile.runs.time_ns * factor).astype(np.int64)
        parts = np.where(runs.parts_ns < 0, -1, (runs.parts_ns * factor).astype(np.int64))
        parts[:, 0] = np.where(
            runs.is_profile_pass, parts[:, 0] + runs.n * time_ns - parts.sum(axis=1), runs.parts_ns[:, 0]
        )
        profiles.append(replace(profile, runs=replace(runs, time_ns=time_ns, time_s=time_ns / 1e9, parts_ns=parts)))
    return replace(measurements, profiles=profiles)


def measure(owner, factor=1.0, label="", machines=1, **how):
    """The delivery of an owner who measured machine-0 and found it that much slower than it is."""
    name = label or (owner.username if owner else "operator")
    return store(slower(sample_measurements(machines, 1), factor), label=name, owner=owner, **how).source


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
        assert verdict(measure(bob, 1.1))[0] == "another owner's measurement of the same pair counts"
        differing = verdict(measure(bob, 0.2, "again"))
        assert differing == ("0.2 times the time of another owner's measurement of the same pair", DIFFERS)

    def test_who_measured_again_is_still_the_first(self, ada, bob):
        sources = measure(ada), measure(bob, 1.1), measure(ada, 1.2, "again")
        assert verdicts(*sources) == ["counts", SECOND, "counts"]

    def test_a_new_accounts_is_displaced(self, ada):
        assert verdicts(measure(new_account("eve"), 1.1), measure(ada)) == [SECOND, "counts"]

    def test_a_new_accounts_counts_where_there_is_no_other(self):
        assert verdict(measure(new_account("eve"))) == COUNTS

    def test_what_new_accounts_say_is_known_by_their_age_at_the_time(self, ada):
        eve = new_account("eve")
        early = measure(eve, 1.1)
        get_user_model().objects.filter(pk=eve.pk).update(date_joined=ada.date_joined)
        confirm_address(eve)
        assert verdicts(early, measure(ada)) == [SECOND, "counts"]

    def test_the_first_is_who_published_first(self, ada, bob):
        early = measure(ada, private=True)
        public = measure(bob, 1.1)
        publish_source(early)
        assert verdicts(early, public) == [SECOND, "counts"]

    def test_who_publishes_is_new_or_not_at_that_time(self, ada):
        eve = new_account("eve")
        early = measure(eve, private=True)
        get_user_model().objects.filter(pk=eve.pk).update(date_joined=ada.date_joined)
        confirm_address(eve)
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
        profile = sample_measurements(1, 1).profiles[0]
        time_ns = np.where(profile.runs.n > 1, profile.runs.time_ns // 5, profile.runs.time_ns)
        parts = np.where(profile.runs.parts_ns < 0, -1, 0)
        parts[:, 0] = np.where(profile.runs.is_profile_pass, profile.runs.n * time_ns, -1)
        runs = replace(profile.runs, time_ns=time_ns, time_s=time_ns / 1e9, parts_ns=parts)
        bent = replace(sample_measurements(1, 1), profiles=[replace(profile, runs=runs)])
        assert verdict(store(bent, label="bent", owner=bob).source)[1] == DIFFERS

    def test_time_alone_is_no_alternative_to_what_is_decomposed_but_has_to_agree(self, ada, bob, cyd):
        measure(ada)
        alone = sample_measurements(1, 1, decomposed=False)
        fair, wrong = (
            store(replace(alone, profiles=[with_times(alone.profiles[0], factor)]), label=owner.username, owner=owner)
            for owner, factor in ((bob, 1.0), (cyd, 0.2))
        )
        assert verdicts(fair.source, wrong.source) == ["counts", DIFFERS]


def with_times(profile, factor):
    time_ns = (profile.runs.time_ns * factor).astype(np.int64)
    return replace(profile, runs=replace(profile.runs, time_ns=time_ns, time_s=time_ns / 1e9))


class TestMoreOwners:
    def test_the_one_nearest_the_median_counts(self, ada, bob, cyd):
        sources = measure(ada, 1.0), measure(bob, 1.2), measure(cyd, 1.1)
        assert verdicts(*sources) == [SECOND, SECOND, "counts"]

    def test_a_third_agrees(self, ada, bob, cyd):
        first, second = measure(ada), measure(bob, 0.2)
        assert verdicts(first, second) == ["counts", DIFFERS]
        third = measure(cyd, 0.21)
        assert verdicts(first, second, third) == [DIFFERS, SECOND, "counts"]

    def test_new_accounts_are_no_third(self, ada, bob):
        sources = [measure(ada), measure(bob, 0.2), *(measure(new_account(f"eve{i}"), 0.2) for i in range(10))]
        assert verdicts(*sources) == ["counts", *[DIFFERS] * 11]

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
    def test_a_moderator_agrees(self, ada, bob):
        first, second = measure(ada), measure(bob, 0.2)
        mark_outlier(second.profiles.get(), "")
        assert [verdict(source) for source in (first, second)] == [
            ("5 times the time of another owner's measurement of the same pair", DIFFERS),
            ("", "moderator"),
        ]

    def test_and_takes_it_back(self, ada, bob):
        first, second = measure(ada), measure(bob, 0.2)
        before = [verdict(source) for source in (first, second)]
        decision = Decision(get_user_model().objects.create_user("moderator"), "a new compiler")
        undo(judge(second.profiles.get(), "", decision), decision)
        assert [verdict(source) for source in (first, second)] == before

    def test_the_first_is_hidden_and_shown_again(self, ada, bob):
        first, second = measure(ada), measure(bob, 0.2)
        set_hidden(first, True)
        assert verdict(second) == COUNTS
        first.refresh_from_db()
        set_hidden(first, False)
        assert verdicts(first, second) == ["counts", DIFFERS]

    def test_the_first_is_withdrawn(self, ada, bob):
        first, second = measure(ada), measure(bob, 0.2)
        withdraw(type(first).objects.filter(pk=first.pk))
        assert verdict(second) == COUNTS

    def test_the_first_is_found_to_be_an_outlier(self, ada, bob):
        first, second = measure(ada), measure(bob, 1.1)
        profiles = list(first.profiles.all())
        keep_verdicts(profiles, {profiles[0].pk: "far off"}, 1)
        assert [verdict(source) for source in (first, second)] == [("far off", "computed"), COUNTS]
        keep_verdicts(profiles, {}, 1)
        assert verdicts(first, second) == ["counts", SECOND]

    def test_another_judgement_does_not_clear_it(self, ada, bob):
        measure(ada)
        second = measure(bob, 0.2)
        assert keep_verdicts(list(second.profiles.all()), {}, 1) == 0
        assert verdict(second)[1] == DIFFERS

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

    def test_rows_from_before_are_judged_on_demand(self, ada, bob):
        first, second = measure(ada), measure(bob, 0.2)
        Profile.objects.update(outlier_reason="", outlier_judge="")
        revision = Revision.current()
        assert judge_all_pairs() == 1
        assert verdicts(first, second) == ["counts", DIFFERS]
        assert Revision.current() != revision
        assert judge_all_pairs() == 0


def test_an_upload_that_displaces_nothing_only_adds(ada, bob):
    measure(ada)
    oldest = Revision.oldest()
    measure(bob, 0.2)
    assert (Revision.oldest(), VerdictChange.objects.count()) == (oldest, 0)


def test_what_is_displaced_is_noted_for_snapshots(ada):
    first = measure(new_account("eve"))
    measure(ada)
    assert VerdictChange.objects.get().profiles == [first.profiles.get().pk]


def test_a_delivery_that_nobody_contests_costs_one_query_more(ada, django_assert_num_queries):
    from profiles.judgement.owners import contested_pairs, judge_pairs  # noqa: PLC0415

    source = measure(ada)
    with django_assert_num_queries(1):
        assert judge_pairs(contested_pairs(source.profiles.all())) == set()
