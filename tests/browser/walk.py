"""Every page, with an address to open it at: for the tests that go through all of them."""

from __future__ import annotations

import io
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from accounts.models import ApiToken
from benchmarks.services import receive
from predictor.models import Evaluation
from predictor.services import PredictionRequest, predict
from profiles.models import Profile
from tests.benchmarks.tarballs import packed
from tests.samples import sample_measurements

WORKLOAD, TARGET = "app0-section0", "machine-1"

# Names of addresses that are no pages: what they answer with is part of one, a redirect, a file, or another project's.
NO_PAGES = {
    "predict-possible",
    "revoke-token",
    "logout",
    "healthz",
    "password_reset_confirm",
    "password_reset_done",
    "password_reset_complete",
    "password_change_done",
}


OWN = ("upload", "uploads", "tokens", "password_change")


@dataclass(frozen=True)
class Walk:
    """Name of the page -> its address."""

    public: dict[str, str]
    own: dict[str, str]

    def everywhere(self) -> list[tuple[str, bool]]:
        """Each address, and whether it needs an account."""
        return [(address, False) for address in self.public.values()] + [(one, True) for one in self.own.values()]


def pages_of(profile: Profile, owner: User, workload: str = WORKLOAD, target: str = TARGET) -> Walk:
    """Of a database with the sample profiles: what anybody sees, and what needs `owner` to be signed in."""
    prediction = predict(PredictionRequest(workload, target))
    accepted = receive(io.BytesIO(packed(sample_measurements(1, 2, seed=4))), owner, "private", "mine.tar.gz")
    rejected = receive(SimpleUploadedFile("broken.tar.gz", b"no tarball"), owner, "public", "broken.tar.gz")
    ApiToken.issue(owner, name="laptop")
    call_command("evaluate", "--database", "--method", "mpet2020", "--jobs", "1", stdout=io.StringIO())
    public = {name: plain_address(name) for name in page_names() - {*OWN} if plain_address(name)}
    public |= {
        "platform": reverse("platform", args=[profile.platform.slug]),
        "workload": reverse("workload", args=[profile.workload.slug]),
        "profile": reverse("profile", args=[profile.uid]),
        "beyond": reverse("beyond", args=[profile.uid]),
        "predict, filled": f"{reverse('predict')}?workload={workload}&target={target}",
        "predict, impossible": f"{reverse('predict')}?workload=nothing&target={target}",
        "prediction": reverse("prediction", args=[prediction.uid]),
        "platforms, none found": f"{reverse('platforms')}?search=zzzzz",
        "evaluation": reverse("evaluation", args=[Evaluation.objects.get().uid]),
    }
    own = {name: reverse(name) for name in OWN}
    own |= {
        "upload-report": reverse("upload-report", args=[accepted.uid]),
        "upload-report, rejected": reverse("upload-report", args=[rejected.uid]),
    }
    return Walk(public, own)


def plain_address(name: str) -> str:
    """The address of a page that takes no arguments; "" of one that does."""
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""


def page_names() -> set[str]:
    """The names of all addresses of the site that are pages."""
    return set(_names(get_resolver())) - NO_PAGES


def _names(resolver: URLResolver) -> list[str]:
    found: list[str] = []
    for entry in resolver.url_patterns:
        if isinstance(entry, URLPattern):
            found.append(entry.name)
        elif str(entry.pattern) not in {"api/v1/", "admin/"}:
            found += _names(entry)
    return found
