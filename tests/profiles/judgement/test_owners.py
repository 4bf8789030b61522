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
from tests.profiles.deliveries import deliver
from tests.samples import sample_measurements, scaled

pytestmark = pytest.mark.django_db
COUNTS, SECOND, DIFFERS = ("", ""), "second", "differs"


BENT = lambda n: np.where(n > 1, 0.2, 1.0)  # noqa: E731


def slower(measurements, factor):
    """The same with all times that many times as long. The factor may depend on the thread counts."""
    profiles = [
        replace(one, runs=scaled(one.runs, factor(one.runs.n) if callable(factor) else factor))
        for one in measurements.profiles
    ]
    return replace(measurements, profiles=profiles)


def measure(owner, factor=1.0, decomposed=True, **how):
    """The delivery of an owner who measured machine-0 and found it that much slower than it is."""
    return deliver(slower(sample_measurements(1, 1, decomposed=decomposed), factor), owner=owner, **how).source


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


# Who measured in this order, how long in relation to the first, and whose measurement counts. eve0 to eve9 are new.
SEVERAL = {
    "agreeing": ([("ada", 1.0), ("bob", 1.1)], ["counts", SECOND]),
    "faster": ([("ada", 1.0), ("bob", 0.2)], ["counts", DIFFERS]),
    "slower": ([("ada", 1.0), ("bob", 5.0)], ["counts", DIFFERS]),
    "a bent curve": ([("ada", 1.0), ("bob", BENT)], ["counts", DIFFERS]),
    "who measured again is still the first": (
        [("ada", 1.0), ("bob", 1.1), ("ada", 1.2)],
        ["counts", SECOND, "counts"],
    ),
    "a new account's alone": ([("eve0", 1.1)], ["counts"]),
    "a new account's is displaced": ([("eve0", 1.1), ("ada", 1.0)], [SECOND, "counts"]),
    "nearest to the median": ([("ada", 1.0), ("bob", 1.2), ("cyd", 1.1)], [SECOND, SECOND, "counts"]),
    "a third agrees": ([("ada", 1.0), ("bob", 0.2), ("cyd", 0.21)], [DIFFERS, SECOND, "counts"]),
    "new accounts are no third": (
        [("ada", 1.0), ("bob", 0.2), *((f"eve{i}", 0.2) for i in range(10))],
        ["counts", *[DIFFERS] * 11],
    ),
    "new accounts displace no new one": (
        [(f"eve{i}", 0.2 if i else 1.0) for i in range(10)],
        ["counts", *[DIFFERS] * 9],
    ),
    "one vote": ([("ada", 1.0), *(("bob", 0.2 + i / 1000) for i in range(4))], ["counts", *[DIFFERS] * 4]),
    "of the same distance the first": (
        [("ada", 1.3), ("bob", 1.2), ("cyd", 1.1), ("dan", 1.0)],
        [SECOND, "counts", SECOND, SECOND],
    ),
}


@pytest.mark.parametrize("case", SEVERAL)
def test_whose_measurement_counts(case):
    measured, expected = SEVERAL[case]
    accounts = {name: (new_account if name.startswith("eve") else old_account)(name) for name in dict(measured)}
    assert verdicts(*[measure(accounts[name], factor) for name, factor in measured]) == expected


class TestTwoOwners:
    def test_it_says_why(self, ada, bob):
        measure(ada)
        assert verdict(measure(bob, 1.1))[0] == "another owner's measurement of the same pair is used"
        differing = verdict(measure(bob, 0.2))
        assert differing == ("0.2 times the time of another owner's measurement of the same pair", DIFFERS)

    @pytest.mark.parametrize("published", [False, True])
    def test_an_account_is_new_or_not_when_it_becomes_public(self, ada, published):
        eve = new_account("eve")
        early = measure(eve, 1.1, private=published)
        grow_old(eve, like=ada)
        if published:
            early.private_to.refresh_from_db()
            publish_source(early)
        assert verdicts(early, measure(ada)) == (["counts", SECOND] if published else [SECOND, "counts"])

    def test_the_first_is_who_published_first_and_private_measurements_do_not_matter(self, ada, bob):
        early = measure(ada, private=True)
        public = measure(bob, 1.1)
        assert verdicts(early, public) == ["counts", "counts"]
        publish_source(early)
        assert verdicts(early, public) == [SECOND, "counts"]

    def test_what_varies_as_much_does_not_differ(self, ada, bob):
        first = measure(ada)
        first.profiles.update(standard_error=0.6)
        assert verdict(measure(bob, 0.2))[1] == SECOND

    def test_time_alone_is_no_alternative_to_what_is_decomposed_but_has_to_agree(self, ada, bob):
        measure(ada)
        fair, wrong = measure(bob, decomposed=False), measure(old_account("cyd"), 0.2, decomposed=False)
        assert verdicts(fair, wrong) == ["counts", DIFFERS]

    def test_several_measurements_of_one_owner_or_of_new_accounts_contradict_nobody(self, ada, bob):
        first = measure(ada)
        for i in range(3):
            measure(bob, 0.2)
            measure(new_account(f"eve{i}"), 0.2)
        assert own_reasons(list(first.profiles.select_related("platform", "workload"))) == {}


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
        second = deliver(slower(whole, 0.2), owner=bob).source
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
