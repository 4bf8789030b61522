"""All pages with their addresses, for tests that open all of them."""

from __future__ import annotations

import io
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse
from playwright.sync_api import Page, expect

from accounts.models import ApiToken
from benchmarks.quarantine import store_in_quarantine
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.identity.programs import programs_by_source
from profiles.models import Profile
from tests.benchmarks.tarballs import packed
from tests.benchmarks.uploads import receive
from tests.predictor.stored_evaluations import evaluate_and_store, store_report
from tests.programs import program_measurements
from tests.samples import sample_measurements

WORKLOAD, TARGET = "app0-section0", "machine-1"

# Names of addresses that are not pages: they return a part of a page, a redirect, a file, or another project's page.
NO_PAGES = {
    "predict-possible",
    "what-if-answer",
    "revoke-token",
    "rotate-token",
    "export-account",
    "logout",
    "admin-login",
    "admin-password",
    "confirm-address",
    "healthz",
    "metrics",
    *("account_confirm_email", "account_confirm_login_code", "account_reset_password_from_key", "account_set_password"),
    *("reauthenticate", "second-factor", "second-factor-again"),
    *("mfa_activate_totp", "mfa_deactivate_totp", "mfa_download_recovery_codes", "mfa_generate_recovery_codes"),
    *("mfa_view_recovery_codes", "socialaccount_signup", "socialaccount_login_error"),
    # django-allauth's names of the same pages
    *("account_login", "account_logout", "account_signup", "account_email", "account_reauthenticate"),
    *("account_change_password", "account_reset_password", "mfa_authenticate", "mfa_reauthenticate"),
}
# Pages of this site and of others embed these.
NO_PAGES |= {"badge", "program-badge", "embed", "picture", "picture-of-prediction"}
NO_PAGES |= {"own-price-table", "rename-region", "workload-badge"}
NO_PAGES |= {"favicon", "robots", "former-tokens"}  # files and a redirect
NO_PAGES |= {"begin-claim", "claim"}  # steps of a claim, tested in tests/operations/test_quarantine.py
# Pages for moderators are tested in tests/operations/test_moderation.py.
NO_PAGES |= {"moderation", "moderation-log", "moderate-undo", "moderate-delivery", "moderate-merge", "moderate-profile"}
OWN = (
    *("upload", "uploads", "tokens", "device-login", "password_change", "address"),
    *("own-predictions", "delete-predictions", "account", "delete-account"),
    *("mfa_index", "usersessions_list", "socialaccount_connections"),
    *("own-prices", "delete-own-prices"),
)
# Page -> minimum number of figures. The other pages have none.
CHARTS = {
    "home": 1,
    "home, chosen": 1,
    "workload": 4,
    "workload, cost": 3,
    "profile": 7,
    "profile, thread time": 7,
    "workload-map": 1,
    "compare-platforms": 7,
    "compare-workloads": 6,
    "prediction": 3,
    "unstored-answer": 3,
    "prediction, t(1)": 1,
    "prediction, scaling": 1,
    "prediction, changed": 3,
    "what-if": 2,
    "what-if, moved": 2,
    "what-if, refused": 2,
    "what-if, time only": 2,
    "program": 2,
    "ranking": 1,
    "ranking, filtered": 1,
    "accuracy": 9,
    "evaluation": 1,
    "beyond": 1,
}


@dataclass(frozen=True)
class Walk:
    """The addresses of all public pages and of the pages that need an account, by name."""

    public: dict[str, str]
    own: dict[str, str]

    def everywhere(self) -> list[tuple[str, str, bool]]:
        """Return the name and address of each page, and whether it needs an account."""
        return [(*page, False) for page in self.public.items()] + [(*page, True) for page in self.own.items()]


def pages_of(profile: Profile, owner: User, workload: str = WORKLOAD, target: str = TARGET) -> Walk:
    """Return the pages of a database with the sample profiles: public pages, and pages that `owner` must sign in for.

    It stores uploads, predictions, a program and an evaluation for them.
    """
    accepted = receive(packed(sample_measurements(1, 2, seed=4)), owner, "private", "mine.tar.gz")
    rejected = receive(b"no tarball", owner, "public", "broken.tar.gz")
    ApiToken.issue(owner, name="laptop")
    public = {name: plain_address(name) for name in page_names() - {*OWN} if plain_address(name)}
    public |= {
        "document": reverse("document", args=["api.md"]),
        "search, found": f"{reverse('search')}?q={target[:4]}",
        "platform": reverse("platform", args=[profile.platform.slug]),
        "quarantined": reverse(
            "quarantined", args=[store_in_quarantine(io.BytesIO(packed(sample_measurements(1, 2))), "a.tar.gz")[1]]
        ),
        "report-platform": reverse("report-platform", args=[profile.platform.slug]),
        "report-profile": reverse("report-profile", args=[profile.uid]),
        "workload": reverse("workload", args=[profile.workload.slug]),
        "workload, cost": reverse("workload", args=[profile.workload.slug]) + "?show=cost",
        "profile": reverse("profile", args=[profile.uid]),
        "profile, thread time": reverse("profile", args=[profile.uid]) + "?budget=time",
        "beyond": reverse("beyond", args=[profile.uid]),
        "platforms, none found": f"{reverse('platforms')}?search=zzzzz",
        "platform-distances, sorted": f"{reverse('platform-distances')}?near={target}",
        **predictor_pages(workload, target),
        **program_pages(target),
        "evaluation": reverse("evaluation", args=[evaluate_and_store().uid]),
    }
    store_report()
    own_prediction = predict(PredictionRequest(workload, target), owner)
    own = {name: reverse(name) for name in OWN}
    own |= {
        "upload-report": reverse("upload-report", args=[accepted.uid]),
        "publish-upload": reverse("publish-upload", args=[accepted.uid]),
        "delete-upload": reverse("delete-upload", args=[accepted.uid]),
        "delete-prediction": reverse("delete-prediction", args=[own_prediction.uid]),
        "upload-report, rejected": reverse("upload-report", args=[rejected.uid]),
    }
    return Walk(public, own)


def predictor_pages(workload: str, target: str) -> dict[str, str]:
    """Return the pages of predictions, what-if and ranking, and store the predictions that they show."""
    pair = f"?workload={workload}&target={target}"
    asked = {
        "prediction": {},
        "prediction, t(1)": {"scenario": "sequential"},
        "prediction, scaling": {"scenario": "scaling"},
        "prediction, changed": {"workload_changes": {"work": 2.0}, "platform_changes": {"n_max": 24}},
    }
    answers = {name: predict(PredictionRequest(workload, target, **more)) for name, more in asked.items()}
    return {
        "home, chosen": f"{reverse('home')}?workload={workload}",
        "predict, filled": reverse("predict") + pair,
        "predict, parallelisation": f"{reverse('predict')}{pair}&scenario=parallelisation&strategy=dynamic_loop",
        "predict, impossible": f"{reverse('predict')}?workload=nothing&target={target}",
        "unstored-answer": reverse("unstored-answer") + pair,
        "unstored-measure-next": reverse("unstored-measure-next") + pair,
        "unstored-why": reverse("unstored-why") + pair,
        **{name: reverse("prediction", args=[one.uid]) for name, one in answers.items()},
        "measure-next": reverse("measure-next", args=[answers["prediction"].uid]),
        "why": reverse("why", args=[answers["prediction"].uid]),
        "what-if, moved": f"{reverse('what-if')}{pair}&lock_delay=0.5&n_max=24",
        "what-if, refused": f"{reverse('what-if')}{pair}&n_nu=12&n_ht=6",
        "ranking, filtered": f"{reverse('ranking')}?workload={workload}&device_class=server",
    }


def program_pages(target: str) -> dict[str, str]:
    """Return the pages of a program, and store it as measured on the first sample platform."""
    source = receive(packed(program_measurements()), filename="program.tar.gz").source
    (program,) = programs_by_source([source.pk], None)[source.pk]
    return {
        "program": reverse("program", args=program.address),
        "program-measure-next": f"{reverse('program-measure-next', args=program.address)}?target={target}",
    }


def drawn(page: Page) -> None:
    """Wait until every visible figure shows a trace. Figures behind tabs are not visible."""
    expect(page.locator(".plot:visible:not(:has(.main-svg .trace, .main-svg .hm))")).to_have_count(0, timeout=20_000)


def open_all_tabs(page: Page) -> None:
    """Show the panels of all tabs at once, for tests that check the whole page."""
    page.evaluate(
        """() => {
          for (const panel of document.querySelectorAll('[role="tabpanel"]')) panel.hidden = false;
          document.dispatchEvent(new Event("mpet:figures"));
        }"""
    )


def plain_address(name: str) -> str:
    """Return the address of a page, or "" if it needs arguments."""
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""


def page_names() -> set[str]:
    """Return the names of all addresses of the site that are pages."""
    return set(_names(get_resolver())) - NO_PAGES


def _names(resolver: URLResolver) -> list[str]:
    found: list[str] = []
    for entry in resolver.url_patterns:
        if isinstance(entry, URLPattern):
            found += [entry.name] * bool(entry.name)
        elif str(entry.pattern) not in {"api/v1/", "admin/"}:
            found += _names(entry)
    return found
