"""Settings of the test suite: no files outside a temporary folder, no waiting and no slow password hashing."""

import os
import tempfile

os.environ.setdefault("MPET_STATE_DIR", tempfile.mkdtemp(prefix="mpet-test-"))

from mpet_site.settings import *  # noqa: F403

READING_LOCK = STATE_DIR / f"reading-{os.getpid()}.lock"  # noqa: F405  tests run in parallel
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":  # noqa: F405
    # A file, as in production. Connections to one in-memory database raise an error instead of waiting for each other.
    DATABASES["default"]["TEST"] = {"NAME": str(STATE_DIR / f"test-{os.getpid()}.sqlite3")}  # noqa: F405
STATIC_ROOT = STATE_DIR / "static"  # noqa: F405
STATIC_ROOT.mkdir(exist_ok=True)
INSTALLED_APPS = [*INSTALLED_APPS, "research"]  # noqa: F405  its commands are also tested
SECRET_KEY = "for tests only"  # noqa: S105
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
ACCOUNT_RATE_LIMITS = False
TASKS = {"default": {"BACKEND": "django_tasks.backends.immediate.ImmediateBackend"}}
REST_FRAMEWORK = {**REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": {"anon": None, "user": None}}  # noqa: F405
# Tests change rows without creating a revision, so cached pages would be outdated.
PAGE_CACHE_SECONDS = 0
CACHES["pages"] |= {  # noqa: F405  tests run in parallel and clear this cache
    "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
    "LOCATION": "pages",
}
# No test becomes a background computation because the machine is busy.
REQUEST_SECONDS = 600.0
