"""Settings, read from environment variables. The defaults are safe on a fresh machine (docs/settings.md lists them)."""

import os
import tomllib
from pathlib import Path
from urllib.parse import quote

import environ
from django.core.management.utils import get_random_secret_key

from mpet_site.state_folder import PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE, make_private, stored_text
from profiles.measurements.bounds import MOST_ROWS, MOST_WORKLOADS

env = environ.Env()
# Treat an empty variable as unset, as env files do. Only an empty throttle rate has a meaning: no limit.
env.ENVIRON = {name: value for name, value in os.environ.items() if value or "_THROTTLE_" in name}
BASE_DIR = Path(__file__).resolve().parent.parent
CODE_VERSION = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]
STATE_DIR = Path(env.str("MPET_STATE_DIR", default=str(BASE_DIR / "var")))
make_private(STATE_DIR)
# Where the state folder is read-only, the server serves the stored data and accepts no uploads.
STATE_IS_WRITABLE = os.access(STATE_DIR, os.W_OK)


DEBUG = env.bool("MPET_DEBUG", default=False)
SECRET_KEY = env.str("MPET_SECRET_KEY", default="") or stored_text(STATE_DIR / "secret_key", get_random_secret_key)
SECRET_KEY_FALLBACKS = env.list("MPET_SECRET_KEY_FALLBACKS", default=[])
ALLOWED_HOSTS = env.list("MPET_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("MPET_CSRF_TRUSTED_ORIGINS", default=[])
SITE_URL = env.str("MPET_SITE_URL", default="")
OPERATOR = env.str("MPET_OPERATOR", default="")  # shown in the footer of every page
OPERATOR_URL = env.str("MPET_OPERATOR_URL", default="")
SOURCE_URL = env.str("MPET_SOURCE_URL", default="")
FORCE_SCRIPT_NAME = env.str("MPET_URL_PREFIX", default="").rstrip("/")  # never taken from a request

# Behind an HTTPS proxy: MPET_HTTPS=1.
HTTPS = env.bool("MPET_HTTPS", default=False)
SECURE_SSL_REDIRECT = HTTPS
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = env.int("MPET_HSTS_SECONDS", default=31_536_000) if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.bool("MPET_HSTS_SUBDOMAINS", default=False)
SECURE_HSTS_PRELOAD = env.bool("MPET_HSTS_PRELOAD", default=False)
# HSTS for subdomains and HSTS preload bind other servers of the domain for a year or longer. The owner of the domain
# decides on them, so silence Django's warnings.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",
    "django_filters",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "profiles",
    "predictor",
    "benchmarks",
    "accounts",
    "operations",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "django.contrib.humanize",
    "django_tasks",
    "django_tasks_db",  # after benchmarks, whose db_worker also runs the periodic tasks
]

MIDDLEWARE = [
    "mpet_site.web.request_logs.RequestIdMiddleware",
    "mpet_site.web.request_logs.SecretAddressesMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "mpet_site.web.middleware.PageCompressionMiddleware",
    "mpet_site.web.middleware.ContentSecurityPolicyMiddleware",
    "mpet_site.web.middleware.PrivateAnswersMiddleware",
    "mpet_site.web.middleware.PageMethodsMiddleware",
    "mpet_site.web.background.BackgroundMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "allauth.usersessions.middleware.UserSessionsMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "mpet_site.web.middleware.PageRateMiddleware",
    "mpet_site.web.middleware.ParameterBoundsMiddleware",
    "mpet_site.web.middleware.BodyBoundsMiddleware",
]

# /metrics, for Prometheus, is enabled where a token or a network is allowed to read it. The processes of a server
# aggregate their counters in a folder. The Prometheus client reads its path from the environment when it is imported.
METRICS_TOKEN = env.str("MPET_METRICS_TOKEN", default="")
METRICS_NETWORKS = env.list("MPET_METRICS_NETWORKS", default=[])
if METRICS_TOKEN or METRICS_NETWORKS:
    if STATE_IS_WRITABLE:
        METRICS_DIR = STATE_DIR / "metrics"
        make_private(METRICS_DIR)
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(METRICS_DIR))
    MIDDLEWARE.insert(0, "django_prometheus.middleware.PrometheusBeforeMiddleware")
    MIDDLEWARE.append("django_prometheus.middleware.PrometheusAfterMiddleware")

ROOT_URLCONF = "mpet_site.urls"
WSGI_APPLICATION = "mpet_site.wsgi.application"
FORM_RENDERER = "mpet_site.web.pages.FormRenderer"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "mpet_site" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "mpet_site.web.pages.site",
            ],
            "libraries": {"terms": "mpet_site.web.terms"},
        },
    }
]


def database() -> dict:
    """Return the database configuration: DATABASE_URL, or else SQLite in STATE_DIR.

    SQLite runs in WAL mode, so that readers never wait for a writer. Its connections stay open: closing the last one
    removes the write-ahead log, and on a full disk no new log can be created.
    """
    path = STATE_DIR / "mpet.sqlite3"
    config = env.db("DATABASE_URL", default=f"sqlite:///{path}")
    if config["ENGINE"] == "django.db.backends.sqlite3":
        if config["NAME"] == str(path) and not path.exists():
            path.touch(mode=PRIVATE_FILE_MODE)  # SQLite gives the write-ahead log the same permissions
        config["CONN_MAX_AGE"] = env.int("MPET_CONN_MAX_AGE", default=None)
        config |= sqlite_options(Path(config["NAME"]))
    else:
        config["CONN_MAX_AGE"] = env.int("MPET_CONN_MAX_AGE", default=60)
    config["CONN_HEALTH_CHECKS"] = True
    return config


def sqlite_options(path: Path) -> dict:
    """Return the options for an SQLite file: read and write, or read-only where its folder is not writable."""
    if os.access(path.parent, os.W_OK):
        pragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=20000;"
        return {"OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE", "init_command": pragmas}}
    # With "immutable", SQLite ignores the write-ahead log. Use it only where the log holds no data.
    log = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    return {"NAME": f"file:{quote(str(path))}?{mode}", "OPTIONS": {"timeout": 20}}


DATABASES = {"default": database()}
LOCK_SECONDS = env.float("MPET_LOCK_SECONDS", default=2.0)
# Free space of STATE_DIR below which the server reports a fault.
LEAST_FREE_BYTES = env.int("MPET_LEAST_FREE_BYTES", default=512 * 2**20)

# Caches, and the file of the rate counts. Without a shared cache (MPET_CACHE_URL) each process has its own cache, and
# all processes count requests in RATES_FILE.
CACHES: dict[str, dict] = {"default": env.cache_url("MPET_CACHE_URL", default="locmemcache://")}
CACHES["pages"] = {**CACHES["default"], "KEY_PREFIX": "page"}
if not CACHES["default"]["LOCATION"]:  # per-process memory; each cache needs a distinct LOCATION
    CACHES["pages"] |= {"LOCATION": "pages", "OPTIONS": {"MAX_ENTRIES": 1000}}
    # Pages take longest to compute, so the processes of a server share them in a folder.
    if STATE_IS_WRITABLE:
        make_private(STATE_DIR / "pages")
        CACHES["pages"] |= {
            "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
            "LOCATION": STATE_DIR / "pages",
        }
PAGE_CACHE_SECONDS = env.int("MPET_PAGE_CACHE_SECONDS", default=60)
CACHE_IS_SHARED = bool(env.str("MPET_CACHE_URL", default=""))
RATES_FILE = STATE_DIR / "rates.sqlite3"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
SIGNUP = env.bool("MPET_SIGNUP", default=True)
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

# Accounts use django-allauth. MPET generates the user names, and several accounts may claim one mail address until one
# of them has verified it, so that no form reveals who has an account (docs/decisions/mail-addresses.md). Older sessions
# refer to the first backend.
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_PREVENT_ENUMERATION = "strict"
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_FORMS = {
    "reset_password": "accounts.forms.ForgottenPasswordForm",
    "reset_password_from_key": "accounts.forms.NewPasswordForm",
    "change_password": "accounts.forms.ChangedPasswordForm",
}
MFA_ADAPTER = "accounts.second_factors.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "MPET"
MFA_ALLOW_UNVERIFIED_EMAIL = True
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_PROVIDERS: dict[str, dict] = {}
# Origins of the identity providers to which a sign-in form may redirect (form-action of the content security policy).
SIGN_IN_ORIGINS = []
if github_id := env.str("MPET_GITHUB_CLIENT_ID", default=""):
    github = {"client_id": github_id, "secret": env.str("MPET_GITHUB_CLIENT_SECRET")}
    SOCIALACCOUNT_PROVIDERS["github"] = {"APPS": [github], "SCOPE": ["user:email"]}
    SIGN_IN_ORIGINS.append("https://github.com")
    INSTALLED_APPS.append("allauth.socialaccount.providers.github")
if oidc_server := env.str("MPET_OIDC_SERVER_URL", default=""):
    oidc = {
        "provider_id": "oidc",
        "name": env.str("MPET_OIDC_NAME", default="OpenID Connect"),
        "client_id": env.str("MPET_OIDC_CLIENT_ID"),
        "secret": env.str("MPET_OIDC_CLIENT_SECRET"),
        "settings": {"server_url": oidc_server},
    }
    SOCIALACCOUNT_PROVIDERS["openid_connect"] = {"APPS": [oidc], "OAUTH_PKCE_ENABLED": True}
    SIGN_IN_ORIGINS.append("/".join(oidc_server.split("/")[:3]))
    INSTALLED_APPS.append("allauth.socialaccount.providers.openid_connect")

# Mail is sent to confirm an address. Messages about forgotten passwords go to confirmed addresses only.
vars().update(env.email_url("MPET_EMAIL_URL", default="consolemail://"))
DEFAULT_FROM_EMAIL = env.str("MPET_EMAIL_FROM", default="mpet@localhost")

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

PUBLIC_FILES = {"file_permissions_mode": 0o644, "directory_permissions_mode": 0o755}  # another server may serve them
STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("MPET_STATIC_ROOT", default=str(BASE_DIR / "staticfiles")))
STATICFILES_DIRS = [BASE_DIR / "mpet_site" / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage", "OPTIONS": PUBLIC_FILES},
}
MEDIA_ROOT = STATE_DIR / "media"
FILE_UPLOAD_PERMISSIONS = PRIVATE_FILE_MODE
FILE_UPLOAD_DIRECTORY_PERMISSIONS = PRIVATE_FOLDER_MODE
# Files that a killed process left in this folder are deleted.
FILE_UPLOAD_TEMP_DIR = STATE_DIR / "incoming"
if STATE_IS_WRITABLE:
    FILE_UPLOAD_TEMP_DIR.mkdir(mode=PRIVATE_FOLDER_MODE, exist_ok=True)
# Archives that fetch_data has not completely imported yet.
FETCHED_DIR = STATE_DIR / "fetched"

# Background tasks: `immediate` runs them in the request, `database` leaves them to `manage.py db_worker`.
TASKS = {
    "default": {
        "BACKEND": {
            "immediate": "django_tasks.backends.immediate.ImmediateBackend",
            "database": "django_tasks_db.DatabaseBackend",
        }[env.str("MPET_TASKS", default="immediate")]
    }
}

# A process holds a lease on its work and renews it. When the lease expires, the periodic tasks of any running process
# resume the work.
LEASE_SECONDS = env.float("MPET_LEASE_SECONDS", default=30.0)
DUMP_HOURS = env.float("MPET_DUMP_HOURS", default=24.0)
EVALUATION_HOURS = env.float("MPET_EVALUATION_HOURS", default=24.0)
CHORE_SECONDS = env.float("MPET_CHORE_SECONDS", default=10.0)

# Work that takes longer than this in a request becomes a background computation (docs/decisions/computations.md).
REQUEST_SECONDS = env.float("MPET_REQUEST_SECONDS", default=0.5)
BATCH_SECONDS = env.float("MPET_BATCH_SECONDS", default=20.0)
# The slugs of the workload and the machine that an empty form shows. By default, the pair with the most profiles.
FIRST_PAIR = env.list("MPET_FIRST_PAIR", default=[])
COMPUTATIONS_WAITING = env.int("MPET_COMPUTATIONS_WAITING", default=32)
COMPUTATIONS_KEPT_BYTES = env.int("MPET_COMPUTATIONS_KEPT_BYTES", default=64 * 2**20)

# From this number of profiles on, the snapshot for predictions is a set of files that all processes share.
SNAPSHOT_FILE_PROFILES = env.int("MPET_SNAPSHOT_FILE_PROFILES", default=100_000)

# Limits of an uploaded tarball (docs/formats.md).
UPLOAD_MAX_PACKED_BYTES = env.int("MPET_UPLOAD_MAX_PACKED_BYTES", default=64 * 2**20)
UPLOAD_MAX_UNPACKED_BYTES = env.int("MPET_UPLOAD_MAX_UNPACKED_BYTES", default=512 * 2**20)
UPLOAD_MAX_MEMBERS = env.int("MPET_UPLOAD_MAX_MEMBERS", default=10_000)
UPLOAD_MAX_ROWS = env.int("MPET_UPLOAD_MAX_ROWS", default=MOST_ROWS)
UPLOAD_MAX_ATTEMPTS = env.int("MPET_UPLOAD_MAX_ATTEMPTS", default=2)
UPLOAD_MAX_WORKLOADS = env.int("MPET_UPLOAD_MAX_WORKLOADS", default=MOST_WORKLOADS)

# Limits of a file written by another tool (docs/formats-in.md), and of the process that reads untrusted files
# (docs/decisions/reading-processes.md).
FOREIGN_MAX_BYTES = env.int("MPET_FOREIGN_MAX_BYTES", default=2 * 2**20)
READ_SECONDS = env.float("MPET_READ_SECONDS", default=5.0)
READ_TARBALL_SECONDS = env.float("MPET_READ_TARBALL_SECONDS", default=20.0)
READ_WALL_SECONDS = env.float("MPET_READ_WALL_SECONDS", default=60.0)
READ_MEMORY_BYTES = env.int("MPET_READ_MEMORY_BYTES", default=512 * 2**20)
READING_LOCK = STATE_DIR / "reading.lock"  # held by the request that waits for such a process

# Uploads without an account: for how many days they are kept unless they are claimed (0: none are accepted), their
# maximum size, and their maximum number.
QUARANTINE_DAYS = env.float("MPET_QUARANTINE_DAYS", default=30.0)
QUARANTINE_MAX_PACKED_BYTES = env.int("MPET_QUARANTINE_MAX_PACKED_BYTES", default=8 * 2**20)
QUARANTINE_MAX_ROWS = env.int("MPET_QUARANTINE_MAX_ROWS", default=50_000)
QUARANTINE_MOST = env.int("MPET_QUARANTINE_MOST", default=1_000)

# For how many days an account counts as new (0: never). Measurements of a new account are only used for pairs of
# workload and platform that no other account has measured.
NEW_ACCOUNT_DAYS = env.float("MPET_NEW_ACCOUNT_DAYS", default=30.0)

# Retention in days (0: unlimited, docs/operations.md).
KEEP_PREDICTIONS_DAYS = env.float("MPET_KEEP_PREDICTIONS_DAYS", default=0.0)
KEEP_REPORTS_DAYS = env.float("MPET_KEEP_REPORTS_DAYS", default=0.0)
KEEP_TARBALLS_DAYS = env.float("MPET_KEEP_TARBALLS_DAYS", default=0.0)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticatedOrReadOnly"],
    "DEFAULT_RENDERER_CLASSES": ["mpet_site.web.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["mpet_site.web.parsers.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "mpet_site.web.renderers.ContentNegotiation",
    "DEFAULT_THROTTLE_CLASSES": ["mpet_site.web.throttling.RequestThrottle"],
    "DEFAULT_THROTTLE_RATES": {
        "anon": env.str("MPET_THROTTLE_ANON", default="600/min") or None,
        "user": env.str("MPET_THROTTLE_USER", default="1200/min") or None,
        "login": env.str("MPET_THROTTLE_LOGIN", default="20/min") or None,
        "device": env.str("MPET_THROTTLE_DEVICE", default="20/hour") or None,
        "computation": env.str("MPET_THROTTLE_COMPUTATION", default="60/hour") or None,
        "prediction": env.str("MPET_THROTTLE_PREDICTION", default="20/min") or None,
        "signup": env.str("MPET_THROTTLE_SIGNUP", default="20/hour") or None,
        "reset": env.str("MPET_THROTTLE_RESET", default="20/hour") or None,
        "report": env.str("MPET_THROTTLE_REPORT", default="5/hour") or None,
        "quarantine": env.str("MPET_THROTTLE_QUARANTINE", default="5/hour") or None,
        "preview": env.str("MPET_THROTTLE_PREVIEW", default="10/min") or None,
        "export": env.str("MPET_THROTTLE_EXPORT", default="10/hour") or None,
        "mail": env.str("MPET_THROTTLE_MAIL", default="5/day") or None,
        "verification": env.str("MPET_THROTTLE_VERIFICATION", default="1/day") or None,
    },
    "NUM_PROXIES": env.int("MPET_PROXIES", default=0),
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "mpet_site.web.problems.exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "MPET",
    "DESCRIPTION": (
        "Measured run times of parallel workloads, and predictions for machines where they were not measured."
    ),
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "ENUM_NAME_OVERRIDES": {"SettlementOriginEnum": "predictor.core.assembly.PREDICTION_ORIGINS"},
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "mpet_site.web.openapi.describe_csv",
        "mpet_site.web.openapi.describe_parameters",
        "mpet_site.web.openapi.close_requests",
        "mpet_site.web.openapi.add_headers",
        "mpet_site.web.openapi.add_problems",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# Log lines are text, or one JSON object per line for log collectors. By default, requests are logged in JSON only.
LOG_FORMAT = env.str("MPET_LOG_FORMAT", default="text")
LOG_REQUESTS = env.bool("MPET_LOG_REQUESTS", default=LOG_FORMAT == "json")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "mpet_site.web.request_logs.RequestIdFilter"}},
    "formatters": {
        "text": {"format": "%(message)s"},
        "json": {
            "()": "pythonjsonlogger.json.JsonFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s %(request_id)s %(process)d",
            "rename_fields": {"asctime": "time", "levelname": "level", "name": "logger"},
        },
    },
    "handlers": {
        "console": {
            "class": "mpet_site.web.request_logs.SecretsHandler",
            "filters": ["request_id"],
            "formatter": LOG_FORMAT,
        },
    },
    "loggers": {"django.server": {"handlers": ["console"], "propagate": False}},  # of runserver
    "root": {"handlers": ["console"], "level": env.str("MPET_LOG_LEVEL", default="INFO")},
}
