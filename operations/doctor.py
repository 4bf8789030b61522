"""Diagnosis of an installation: faults and what to do about them."""

from __future__ import annotations

import ipaddress
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles.storage import ManifestFilesMixin
from django.core.files.storage import default_storage, storages
from django.db import Error, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from accounts.second_factors import plain_second_factors, unreadable_second_factors
from benchmarks.models import Upload
from mpet_site.state_folder import PRIVATE_FOLDER_MODE, mode_of
from mpet_site.web.health import pending_migrations, storage_fault
from mpet_site.web.throttling import parse_rate
from operations.backups.service import known_migrations
from profiles.ingest.derivation import profiles_to_refit
from profiles.jobs.queue import uses_workers
from profiles.judgement.usability import unusable_profiles
from profiles.models import Profile

WAITED_LONG = timedelta(minutes=10)
LISTED = 5
LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]"}
KEPT_IN_LOG = ("console.EmailBackend", "dummy.EmailBackend")


@dataclass(frozen=True)
class Fault:
    """A fault of the installation. With `is_error`, something does not work now. Otherwise it is a risk."""

    text: str
    is_error: bool = True


def warning(text: str) -> Fault:
    return Fault(text, is_error=False)


def examine() -> Iterator[Fault]:
    """Yield all findings. Check the database first, because most other checks need it."""
    unavailable = list(database_findings())
    yield from unavailable
    for check in CHECKS_OF_MACHINE:
        yield from check()
    if not any(finding.is_error for finding in unavailable):
        for check in CHECKS_OF_ROWS:
            yield from check()


def database_findings() -> Iterator[Fault]:
    try:
        pending = pending_migrations(connection)
        applied = MigrationRecorder(connection).applied_migrations()
    except Error as error:
        yield Fault(f"The database does not answer: {error}. Check DATABASE_URL.")
        return
    if pending:
        yield Fault(f"{pending} migrations are not applied: run manage.py migrate.")
    unknown = {f"{app}.{name}" for app, name in applied} - known_migrations()
    if unknown:
        names = ", ".join(sorted(unknown)[:LISTED])
        yield warning(f"The database has migrations of a newer version of MPET: {names}.")
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA quick_check")
            (verdict,) = cursor.fetchone()
        if verdict != "ok":
            yield Fault(f"The database file is damaged ({verdict}): restore a backup.")
    elif not (shutil.which("pg_dump") and shutil.which("psql")):
        yield warning("pg_dump or psql is not installed: manage.py backup needs them (apt install postgresql-client).")


def state_folder_findings() -> Iterator[Fault]:
    folder = Path(settings.STATE_DIR)
    if mode_of(folder) != PRIVATE_FOLDER_MODE:
        yield Fault(f"Other users can enter {folder}, where the database and uploads are: chmod 700 {folder}.")
    if reason := storage_fault():
        yield Fault(f"{folder} {reason}: uploads are refused, and /healthz reports it.")
    try:
        (folder / "incoming" / "written-by-doctor").touch()
        (folder / "incoming" / "written-by-doctor").unlink()
    except OSError as error:
        yield Fault(f"{folder} cannot be written to by this user: {error.strerror}.")


def static_findings() -> Iterator[Fault]:
    storage = storages["staticfiles"]
    if isinstance(storage, ManifestFilesMixin) and storage.read_manifest() is None:
        yield Fault("Style sheets and scripts are not collected: run manage.py collectstatic.")


def exposure_findings() -> Iterator[Fault]:
    is_public = bool(set(settings.ALLOWED_HOSTS) - LOCAL_HOSTS)
    if settings.DEBUG:
        yield Fault("MPET_DEBUG is on: error pages show parts of the settings and of the code.")
    if is_public and not settings.HTTPS:
        yield Fault("MPET_ALLOWED_HOSTS names a public host and MPET_HTTPS is off: passwords are sent unencrypted.")
    if settings.HTTPS and not settings.REST_FRAMEWORK["NUM_PROXIES"]:
        yield warning("MPET_HTTPS is on and MPET_PROXIES is 0: behind a proxy, all visitors share one rate limit.")
    if is_public and not settings.SITE_URL:
        yield warning("MPET_SITE_URL is not set: data packages lack the address of this server.")
    if is_public and settings.EMAIL_BACKEND.endswith(KEPT_IN_LOG):
        yield warning("MPET_EMAIL_URL is not set: users cannot confirm an address or reset a password.")


def value_findings() -> Iterator[Fault]:
    """Check the values of settings that are only read when they are needed."""
    for name, rate in settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"].items():
        try:
            parse_rate(rate or "1/min")
        except (ValueError, KeyError):
            yield Fault(f"MPET_THROTTLE_{name.upper()} is {rate!r}; a rate looks like 20/min.")
    for network in settings.METRICS_NETWORKS:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            yield Fault(f"MPET_METRICS_NETWORKS has {network!r}, which is not a network such as 10.0.0.0/8.")


def upload_findings() -> Iterator[Fault]:
    named = Upload.objects.exclude(file="").order_by("pk").values_list("file", flat=True)
    missing = [name for name in named.iterator() if not default_storage.exists(name)]
    if missing:
        listed = ", ".join(missing[:LISTED])
        yield Fault(
            f"{len(missing)} uploaded files are missing in {settings.MEDIA_ROOT}: {listed}. Restore them from a backup."
        )
    late = Upload.objects.waiting().filter(created_at__lt=timezone.now() - WAITED_LONG).count()
    if late:
        advice = "check that manage.py db_worker is running" if uses_workers() else "check that a server is running"
        yield Fault(f"{late} uploads wait for more than {WAITED_LONG.seconds // 60} minutes: {advice}.")


def task_findings() -> Iterator[Fault]:
    failed = DBTaskResult.objects.filter(status="FAILED", finished_at__gt=timezone.now() - timedelta(days=7)).count()
    if failed:
        yield warning(f"{failed} tasks failed in the last 7 days: see the log of the worker.")


def profile_findings() -> Iterator[Fault]:
    stale = profiles_to_refit(only_stale=True).count()
    if stale:
        yield warning(f"{stale} profiles were derived by another version of the method: run manage.py refit --stale.")
    unusable = unusable_profiles(Profile.objects.filter(hidden=False))
    if unusable:
        yield warning(f"{len(unusable)} profiles cannot be used for predictions; the admin lists them with the reason.")


def moderator_findings() -> Iterator[Fault]:
    if not get_user_model()._default_manager.filter(is_superuser=True, is_active=True).exists():
        yield warning("No user can moderate: run manage.py createsuperuser.")


def second_factor_findings() -> Iterator[Fault]:
    names = [one.user.get_username() for one in unreadable_second_factors()]
    if names:
        yield Fault(
            f"{len(names)} second factors were encrypted with another secret key, and their users cannot sign in: "
            f"{', '.join(names[:LISTED])}. Add the former key to MPET_SECRET_KEY_FALLBACKS."
        )
    plain = plain_second_factors()
    if plain:
        yield warning(f"{plain} second factors are stored unencrypted: run manage.py encrypt_second_factors.")


Check = Callable[[], Iterator[Fault]]
CHECKS_OF_MACHINE: tuple[Check, ...] = (state_folder_findings, static_findings, exposure_findings, value_findings)
CHECKS_OF_ROWS: tuple[Check, ...] = (
    upload_findings,
    task_findings,
    profile_findings,
    moderator_findings,
    second_factor_findings,
)
