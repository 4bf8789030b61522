"""The moderators' pages: who sees them, what is in the queue, and that what is done there is noted and undone."""

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse

from predictor.models import Prediction
from profiles.ingest.withdrawal import withdraw
from profiles.models import ModerationEntry, Platform, Profile, Source, VisitorReport
from profiles.moderation import Decision, decide
from tests.pages import store_private, store_public, text_of, user
from tests.profiles.test_moderation import deliver

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script> {{ 7 }} it is & was 10 times faster"


@pytest.fixture
def moderator(client) -> User:
    moderator = user("moderator")
    moderator.is_staff = True
    moderator.save()
    moderator.user_permissions.add(Permission.objects.get(codename="moderate"))
    client.force_login(moderator)
    return moderator


def queue(client, part: str) -> str:
    return text_of(client.get(reverse("moderation") + f"?part={part}"))


def addresses() -> list[str]:
    """Every page of moderators, of rows that are there."""
    profile = store_public()[0]
    entry = ModerationEntry.objects.create(
        action="hide", subject_kind="source", subject_key=profile.source_id, reason="because of secrets"
    )
    return [
        reverse("moderation"),
        reverse("moderation-log"),
        reverse("moderate-undo", args=[entry.pk]),
        reverse("moderate-delivery", args=[profile.source.uid]),
        reverse("moderate-merge", args=[profile.platform.slug]),
        reverse("moderate-profile", args=[profile.uid]),
    ]


def test_nobody_else_sees_the_queue_its_reports_or_the_log(client):
    pages = addresses()
    VisitorReport.objects.create(profile=Profile.objects.first(), text="because of secrets")
    staff = user("staff")
    staff.is_staff = True
    staff.save()
    former = user("former")
    former.user_permissions.add(Permission.objects.get(codename="moderate"))
    for viewer in (None, user("ada"), staff, former):
        if viewer:
            client.force_login(viewer)
        for address in pages:
            for answer in (client.get(address), client.post(address, {"reason": "mine", "keys": 1})):
                assert (answer.status_code, b"because of secrets" in answer.content) == (404, False), address
        assert reverse("moderation") not in client.get(reverse("platforms")).content.decode()
    assert ModerationEntry.objects.count() == 1
    assert not Source.objects.filter(hidden=True).exists()


def test_moderators_see_all_of_them(client, moderator):
    for address in addresses():
        page = client.get(address)
        assert page.status_code == 200, address
        assert page["Cache-Control"] == "private, no-store"
    assert f'href="{reverse("moderation")}"' in client.get(reverse("platforms")).content.decode()


@pytest.mark.parametrize("noun", ["platform", "profile"])
def test_a_visitor_says_what_is_wrong(client, noun):
    profile = store_public()[0]
    row, key = (profile, profile.uid) if noun == "profile" else (profile.platform, profile.platform.slug)
    address = reverse(f"report-{noun}", args=[key])
    assert f'href="{address}"' in client.get(reverse(noun, args=[key])).content.decode()
    assert client.get(address).status_code == 200
    answer = client.post(address, {"text": HOSTILE})
    assert (answer.status_code, "Thank you" in text_of(answer)) == (201, True)
    assert "sessionid" not in client.cookies
    report = VisitorReport.objects.get()
    assert (report.subject, report.text) == (row, HOSTILE)
    client.force_login(User.objects.create_superuser("moderator"))
    page = client.get(reverse("moderation")).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; {{ 7 }} it is &amp; was 10 times faster" in page
    assert "<script>alert" not in page


@pytest.mark.parametrize("text", ["", "   ", "x" * 2_001, "nul \0 byte"])
def test_a_report_is_bounded(client, text):
    address = reverse("report-platform", args=[store_public()[0].platform.slug])
    assert client.post(address, {"text": text}).status_code == 422
    assert not VisitorReport.objects.exists()


def test_reports_of_one_address_are_limited(client, limit_rates):
    limit_rates(report="2/hour")
    address = reverse("report-platform", args=[store_public()[0].platform.slug])
    statuses = [client.post(address, {"text": "wrong"}).status_code for _ in range(3)]
    assert statuses == [201, 201, 429]
    assert VisitorReport.objects.count() == 2


def test_one_row_is_reported_so_often_only(client):
    profile = store_public()[0]
    VisitorReport.objects.bulk_create(VisitorReport(profile=profile, text="wrong") for _ in range(20))
    answer = client.post(reverse("report-profile", args=[profile.uid]), {"text": "wrong"})
    assert (answer.status_code, "reported many times" in text_of(answer)) == (422, True)
    assert VisitorReport.objects.count() == 20


def test_what_is_private_is_not_reported_even_by_its_owner(client):
    ada = user("ada")
    private = store_private(ada)[0]
    for viewer in (None, ada):
        if viewer:
            client.force_login(viewer)
        for address in (
            reverse("report-profile", args=[private.uid]),
            reverse("report-platform", args=[private.platform.slug]),
        ):
            assert client.get(address).status_code == 404
            assert client.post(address, {"text": "wrong"}).status_code == 404
    assert "Tell the moderators" not in text_of(client.get(reverse("profile", args=[private.uid])))


def test_reports_go_with_what_they_are_about(client, moderator):
    profile = store_public()[0]
    VisitorReport.objects.create(profile=profile, text="wrong")
    VisitorReport.objects.create(platform=profile.platform, text="wrong")
    withdraw(Source.objects.all())
    assert not VisitorReport.objects.exists()
    assert "This part of the queue is empty" in queue(client, "reports")


def test_a_report_whose_row_an_older_version_deleted_breaks_nothing(client, moderator):
    profile = store_public()[0]
    VisitorReport.objects.create(profile=profile, text="wrong")
    Profile.objects.filter(pk=profile.pk)._raw_delete("default")
    assert "This part of the queue is empty" in queue(client, "reports")


def queued_rows() -> dict[str, str]:
    """By part of the queue what is to be found there, and by nobody's private rows."""
    ada = user("ada")
    deliver(7, private_to=ada)
    profiles = store_public()
    Platform.objects.filter(slug="machine-0").update(facts_by=f"user:{ada.pk}")
    Profile.objects.filter(pk=profiles[0].pk).update(outlier_judge="computed", outlier_reason="9 times too slow")
    Profile.objects.filter(pk=profiles[1].pk).update(t1_s=float("inf"))
    Source.objects.filter(label="public.tar.gz").update(kind="tarball")
    for profile in profiles:
        Profile.objects.filter(pk=profile.pk).update(run_count=20, disturbed_count=6)
    Profile.objects.exclude(private_to=None).update(
        run_count=20, disturbed_count=20, outlier_judge="computed", outlier_reason="secretly slow"
    )
    VisitorReport.objects.create(platform=profiles[0].platform, text="not that machine")
    for private_to, measured in ((None, profiles[2]), (ada, Profile.objects.filter(private_to=ada).first())):
        Prediction.objects.create(
            private_to=private_to,
            request_key=f"{measured.pk}",
            workload="w",
            target="p",
            method="mpet",
            method_version="1",
            revision=1,
            answer={},
            settled_at=measured.created_at,
            settled_by=measured,
            doubt="close",
        )
    return {
        "reports": "not that machine",
        "platforms": "machine-0",
        "uploads": "72 of 240 runs were disturbed",
        "outliers": "9 times too slow",
        "agreeing": "is closer to a prediction of its pair",
        "refused": "machine",
    }


def test_each_part_of_the_queue_has_its_rows_which_are_taken_off_with_a_reason_and_put_back(client, moderator):
    for part, words in queued_rows().items():
        page = queue(client, part)
        assert words in page, part
        assert "secretly" not in page
        assert "machine-7" not in page
        assert "1 row " in page, part
        address = reverse("moderation") + f"?part={part}"
        key = client.get(address).context["items"][0].key
        for wrong in ({"keys": [key], "reason": " "}, {"reason": "fine"}, {"keys": [key + 999], "reason": "fine"}):
            assert client.post(address, wrong).status_code == 422, (part, wrong)
        assert client.post(address, {"keys": [key], "reason": "fine"}).status_code == 302
        assert "This part of the queue is empty" in queue(client, part)
        entry = ModerationEntry.objects.latest("pk")
        assert (entry.by, entry.action, entry.queue, entry.subject_key) == (moderator, "handle", part, key)
        client.post(reverse("moderate-undo", args=[entry.pk]), {"reason": "not fine"})
        assert client.get(address).context["items"][0].key == key
    assert ModerationEntry.objects.count() == 12


def test_an_upload_of_which_a_quarter_contradicts_the_rest_is_queued(client, moderator):
    profiles = store_public()
    computed = {"outlier_judge": "computed", "outlier_reason": "slow"}
    Profile.objects.filter(pk__in=[row.pk for row in profiles[:2]]).update(**computed)
    assert "This part of the queue is empty" in queue(client, "uploads")
    Profile.objects.filter(pk=profiles[2].pk).update(**computed)
    assert "3 of 12 profiles are outliers" in queue(client, "uploads")


def test_a_delivery_is_hidden_and_shown_again_from_the_log(client, moderator):
    profile = store_public()[0]
    page = client.get(reverse("profile", args=[profile.uid]))
    address = reverse("moderate-delivery", args=[profile.source.uid])
    assert client.post(address, {"reason": ""}).status_code == 422
    assert Profile.objects.visible_to(None).count() == 12
    client.post(address, {"reason": "invented <b>numbers</b>"})
    assert not Profile.objects.visible_to(None).exists()
    log = client.get(reverse("moderation-log")).content.decode()
    assert "invented &lt;b&gt;numbers&lt;/b&gt;" in log
    entry = ModerationEntry.objects.get()
    client.post(reverse("moderate-undo", args=[entry.pk]), {"reason": "they were right"})
    assert "undone" in text_of(client.get(reverse("moderation-log")))
    assert text_of(client.get(reverse("profile", args=[profile.uid]))) == text_of(page)
    again = client.post(reverse("moderate-undo", args=[entry.pk]), {"reason": "twice"})
    assert (again.status_code, "already undone" in text_of(again)) == (422, True)


def test_platforms_are_merged_and_separated(client, moderator):
    deliver(0), deliver(1, seed=2)
    kept, duplicate = Platform.objects.order_by("name")
    address = reverse("moderate-merge", args=[duplicate.slug])
    unknown = client.post(address, {"kept": "nowhere", "reason": "one machine"})
    assert (unknown.status_code, "no public machine" in text_of(unknown)) == (422, True)
    itself = client.post(address, {"kept": duplicate.slug, "reason": "one machine"})
    assert (itself.status_code, "into itself" in text_of(itself)) == (422, True)
    client.post(address, {"kept": kept.slug, "reason": "one machine"})
    assert kept.profiles.count() == 4
    client.post(reverse("moderate-undo", args=[ModerationEntry.objects.get().pk]), {"reason": "two"})
    assert (kept.profiles.count(), duplicate.profiles.count()) == (2, 2)
    assert client.get(reverse("platform", args=[duplicate.slug])).status_code == 200


def test_a_profile_is_judged(client, moderator):
    profile = store_public()[0]
    address = reverse("moderate-profile", args=[profile.uid])
    client.post(address, {"outlier_reason": "a backup ran", "reason": "its owner said so"})
    profile.refresh_from_db()
    assert (profile.outlier_reason, profile.outlier_judge) == ("a backup ran", "moderator")
    decide(profile.platform, {"vendor": "Maker", "max_mhz": None}, Decision(moderator, "its data sheet"))
    log = text_of(client.get(reverse("moderation-log")))
    assert "excluded: a backup ran" in log
    assert "max_mhz: unknown; vendor: &#x27;Maker&#x27;" in log


def test_what_is_private_is_no_moderators_business(client, moderator):
    private = store_private(user("ada"))[0]
    for address in (
        reverse("moderate-delivery", args=[private.source.uid]),
        reverse("moderate-merge", args=[private.platform.slug]),
        reverse("moderate-profile", args=[private.uid]),
    ):
        assert client.get(address).status_code == 404


def test_the_log_names_nothing_that_its_owner_deleted(client, moderator):
    source = deliver(0, label="secret-file.tar.gz")
    client.post(reverse("moderate-delivery", args=[source.uid]), {"reason": "odd"})
    assert "secret-file" in text_of(client.get(reverse("moderation-log")))
    withdraw(Source.objects.all())
    page = text_of(client.get(reverse("moderation-log")))
    assert "secret-file" not in page
    assert "deleted delivery" in page


def test_the_public_fleet_is_offered_where_few_machines_are_measured(client, moderator, monkeypatch):
    store_private(user("ada"))
    assert "0 measured machines in this database" in text_of(client.get(reverse("moderation")))
    store_public()
    text = text_of(client.get(reverse("moderation")))
    assert "3 measured machines in this database" in text
    assert "manage.py fetch_data sparecores --slim" in text
    monkeypatch.setattr("operations.moderation.views.FEW_MACHINES", 3)
    assert "fetch_data" not in text_of(client.get(reverse("moderation")))
