import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from benchmarks.models import Upload
from predictor.snapshot.cache import read_database
from profiles.models import ModerationEntry, Profile
from tests.mpet_site.api_samples import API, client_of, tarball
from tests.pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def upload(ada) -> Upload:
    client_of(ada).post(API + "uploads/", {"file": tarball(), "visibility": "public"})
    return Upload.objects.get()


def act(client, action: str, upload: Upload, reason: str = "a test"):
    client.force_login(User.objects.filter(is_superuser=True).first() or User.objects.create_superuser("moderator"))
    fields = {"action": action, "reason": reason, "_selected_action": [upload.pk]}
    page = client.post(reverse("admin:benchmarks_upload_changelist"), fields, follow=True)
    client.logout()
    return text_of(page)


def test_a_hidden_upload_is_seen_by_its_owner_without_profiles_until_it_is_shown_again(client, ada, upload):
    address = reverse("upload-report", args=[upload.uid])
    assert client.get(address).status_code == 200
    assert "1 uploads hidden" in act(client, "hide", upload)
    assert client.get(address).status_code == 404
    assert not Profile.objects.visible_to(None).exists()
    assert len(read_database()) == 0
    client.force_login(ada)
    assert "A moderator has hidden" in text_of(client.get(address))
    assert "hidden by a moderator" in text_of(client.get(reverse("uploads")))
    detail = client_of(ada).get(f"{API}uploads/{upload.uid}/").json()
    assert (detail["hidden"], detail["profiles"]) == (True, [])
    entry = ModerationEntry.objects.get()
    assert (entry.by.username, entry.action, entry.reason) == ("moderator", "hide", "a test")
    assert (entry.subject_kind, entry.subject_key) == ("source", upload.source_id)
    client.logout()
    assert "1 uploads shown again" in act(client, "show", upload)
    assert client.get(address).status_code == 200
    assert Profile.objects.visible_to(None).count() == 2
    assert "0 uploads shown again" in act(client, "show", upload)


def test_nothing_is_hidden_without_a_reason(client, upload):
    assert "A reason is required" in act(client, "hide", upload, reason="  ")
    assert Profile.objects.visible_to(None).exists()
    assert not ModerationEntry.objects.exists()


def test_private_uploads_are_not_in_the_admin(client, ada):
    client_of(ada).post(API + "uploads/", {"file": tarball(), "visibility": "private"})
    mine = Upload.objects.get()
    act(client, "hide", mine)
    mine.refresh_from_db()
    assert not mine.source.hidden
    client.force_login(User.objects.get(is_superuser=True))
    assert "results.tar.gz" not in text_of(client.get(reverse("admin:benchmarks_upload_changelist")))
