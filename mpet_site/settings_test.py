"""Settings of the test suite: nothing written outside a temporary folder, no waiting, no slow hashing."""

import os
import tempfile

os.environ.setdefault("MPET_STATE_DIR", tempfile.mkdtemp(prefix="mpet-test-"))

from mpet_site.settings import *  # noqa: F403

READING_LOCK = STATE_DIR / f"reading-{os.getpid()}.lock"  # noqa: F405  tests run side by side
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":  # noqa: F405
    # A file, as where the site runs: connections to a database in memory refuse each other instead of waiting.
    DATABASES["default"]["TEST"] = {"NAME": str(STATE_DIR / f"test-{os.getpid()}.sqlite3")}  # noqa: F405
STATIC_ROOT = STATE_DIR / "static"  # noqa: F405
STATIC_ROOT.mkdir(exist_ok=True)
INSTALLED_APPS = [*INSTALLED_APPS, "research"]  # noqa: F405  its commands are tested too
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
PAGE_CACHE_SECONDS = 0  # tests change rows without a revision
CACHES["pages"] |= {  # noqa: F405  tests run side by side, and clear it
    "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
    "LOCATION": "pages",
}
REQUEST_SECONDS = 600.0  # so that nothing is left to computations because the machine is busy
