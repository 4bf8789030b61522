"""What `manage.py doctor` finds, each fault made and taken back."""

import io
from datetime import timedelta

import numpy as np
import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError, call_command
from django.db import Error
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from accounts.second_factors import SecondFactorAdapter
from benchmarks.models import Upload
from mpet_site.state_folder import make_private
from operations import doctor
from profiles.models import Profile, ScalingCurves
from tests.pages import store_public

pytestmark = pytest.mark.django_db


@pytest.fixture
def found(settings, tmp_path, admin_user):
    """The findings of an installation that has none, as a list of (text, whether it is an error)."""
    settings.STATE_DIR = tmp_path / "state"
    make_private(settings.STATE_DIR)
    (settings.STATE_DIR / "incoming").mkdir()
    settings.MEDIA_ROOT = settings.STATE_DIR / "media"
    settings.ALLOWED_HOSTS = ["localhost"]

    def examine() -> list[tuple[str, bool]]:
        return [(finding.text, finding.is_error) for finding in doctor.examine()]

    assert examine() == []
    return examine


def one(found) -> tuple[str, bool]:
    (finding,) = found()
    return finding


def test_nothing_is_wrong(found, capsys):
    call_command("doctor")
    assert capsys.readouterr().out == "No problem was found.\n"


def test_an_error_is_the_status_of_the_command(found, settings):
    settings.DEBUG = True
    written = io.StringIO()
    with pytest.raises(CommandError, match="1 of 1 findings are errors"):
        call_command("doctor", stdout=written)
    assert written.getvalue().startswith("error: MPET_DEBUG is on")


def test_a_database_that_does_not_answer_is_said_and_not_asked_again(found, monkeypatch):
    def fail(_):
        raise Error("connection refused")

    monkeypatch.setattr("mpet_site.web.health.MigrationExecutor", fail)
    assert one(found)[0].startswith("The database does not answer: connection refused.")


def test_migrations_that_are_missing_or_unknown(found):
    migrations = MigrationRecorder.Migration.objects
    migrations.create(app="profiles", name="9999_future")
    assert one(found)[0].startswith("The database has migrations of a newer version of MPET: profiles.9999_future.")
    migrations.filter(name="9999_future").delete()
    migrations.filter(app="predictor").latest("name").delete()
    assert one(found) == ("1 migrations are not applied: run manage.py migrate.", True)


def test_an_open_or_full_state_folder(found, settings, monkeypatch):
    settings.STATE_DIR.chmod(0o755)
    assert "Other users can enter" in one(found)[0]
    settings.STATE_DIR.chmod(0o700)
    monkeypatch.setattr("django.conf.settings.LEAST_FREE_BYTES", 1 << 62)
    assert "MiB left" in one(found)[0]


def test_second_factors_of_another_key(found, settings, admin_user):
    data = {"secret": SecondFactorAdapter().encrypt("A" * 32)}
    Authenticator.objects.create(user=admin_user, type="totp", data=data)
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another"
    assert one(found)[0].startswith("1 second factors were encrypted with another secret key")
    settings.SECRET_KEY_FALLBACKS = [former]
    assert not found()
    Authenticator.objects.update(data={"secret": "A" * 32})
    assert one(found) == ("1 second factors are stored unencrypted: run manage.py encrypt_second_factors.", False)
    call_command("encrypt_second_factors", stdout=io.StringIO())
    assert not found()


def test_style_sheets_that_were_not_collected(found, settings):
    storage = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": storage}
    settings.STATIC_ROOT = settings.STATE_DIR
    assert one(found) == ("Style sheets and scripts are not collected: run manage.py collectstatic.", True)


def test_a_public_host_without_what_it_needs(found, settings):
    settings.ALLOWED_HOSTS = ["mpet.example.org"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    settings.SITE_URL = ""
    assert [is_error for _, is_error in found()] == [True, False, False]
    settings.SITE_URL, settings.EMAIL_BACKEND = "https://mpet.example.org", "smtp"
    settings.HTTPS = True
    assert "all visitors share one rate" in one(found)[0]


def test_values_that_nobody_reads_before_they_are_needed(found, settings):
    settings.METRICS_NETWORKS = ["10.0.0.0/33"]
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"login": "often"}
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}
    assert [text for text, _ in found()] == [
        "MPET_THROTTLE_LOGIN is 'often'; a rate looks like 20/min.",
        "MPET_METRICS_NETWORKS has '10.0.0.0/33', which is not a network such as 10.0.0.0/8.",
    ]


def test_uploads_whose_file_is_gone_or_that_nobody_processes(found):
    upload = Upload.objects.create(filename="a", sha256="a", size_bytes=1, file="uploads/gone.tar.gz")
    assert one(found)[0].startswith("1 uploads wait") is False
    assert "uploads/gone.tar.gz. Restore them from a backup." in one(found)[0]
    Upload.objects.filter(pk=upload.pk).update(file="", created_at=timezone.now() - timedelta(hours=1))
    assert one(found) == ("1 uploads wait for more than 10 minutes: check that a server is running.", True)


def test_tasks_that_failed(found):
    DBTaskResult.objects.create(
        task_path="a", args_kwargs={}, status="FAILED", finished_at=timezone.now(), backend_name="default"
    )
    assert one(found)[0].startswith("1 tasks failed")


def test_profiles_that_are_stale_or_cannot_be_used(found):
    profile = store_public()[0]
    ScalingCurves.objects.filter(profile=profile).update(n=np.array([0, 0]))
    assert one(found)[0].startswith("1 profiles cannot be used")
    Profile.objects.filter(pk=profile.pk).update(hidden=True)
    assert found() == []


def test_that_nobody_can_moderate(found, admin_user):
    admin_user.delete()
    assert one(found) == ("No user can moderate: run manage.py createsuperuser.", False)
