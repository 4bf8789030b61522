"""Public predictions and programs on other sites: badges, embedded frames, and preview texts and pictures for links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import cache_control
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from predictor.figures.answer import answer_drawing
from predictor.figures.share_picture import share_picture
from predictor.models import Prediction
from predictor.pages.presenting import fastest_point
from profiles.figures.base import Breakpoints
from profiles.identity.programs import (
    ProfiledProgram,
    measured_program,
    profile_of_workload,
    program_of_profile,
    program_or_404,
)
from profiles.models import Workload
from profiles.scaling.wording import counted
from profiles.templatetags.quantities import seconds, significant

# An answer never changes, but the withdrawal of its sources must become visible within an hour.
SHARED_FOR_S = 3600
MOST_BADGE_CHARACTERS = 60
CHARACTER_WIDTH = 6.6  # average width in the badge's font, in SVG user units
BADGE_LABEL = "MPET"
# A frame has no scripts, loads only style sheets of this site, and may be embedded in any page.
EMBED_POLICY = "default-src 'none'; style-src 'self'; img-src 'none'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class SharedAnswer:
    """A summary of an answer in one line: the shortest predicted time, its uncertainty, and the target."""

    text: str
    time: str
    n: int | None


def shared_answer(answer: dict[str, Any]) -> SharedAnswer:
    """Return the one-line summary of an answer document.

    >>> shared_answer({"target": "i9", "time_kind": "absolute", "curve": [
    ...     {"n": 1, "time_s": 20.0, "low_s": 18.0, "high_s": 22.0},
    ...     {"n": 8, "time_s": 12.4, "low_s": 11.3, "high_s": 13.5}]}).text
    '12.4 s ±8.9 % on i9'
    """
    best = fastest_point(answer["curve"], answer.get("credible_n"))
    if best is None or best["time_s"] is None or answer["time_kind"] == "relative":
        return SharedAnswer(f"predicted on {answer['target']}", "", None)
    time = f"{significant(best['time_s'])} s"
    if best["low_s"] is not None and best["high_s"] is not None:
        half_width = (best["high_s"] - best["low_s"]) / 2 / best["time_s"]
        time += f" ±{significant(100 * half_width, 2)} %"
    return SharedAnswer(f"{time} on {answer['target']}", time, int(best["n"]))


def public_prediction(uid: Any) -> Prediction:
    """Return a public prediction for any user, or raise Http404.

    The user of the request is ignored, because browsers that load a badge on another site send the cookies of its
    reader.
    """
    return get_object_or_404(Prediction.objects.public(), uid=uid)


@require_safe
@cache_control(public=True, max_age=SHARED_FOR_S)
def badge(request: HttpRequest, uid: Any) -> HttpResponse:
    """Return the answer as a small SVG image for READMEs."""
    return badge_image(request, BADGE_LABEL, shared_answer(public_prediction(uid).answer).text)


@require_safe
@cache_control(public=True, max_age=SHARED_FOR_S)
def program_badge(request: HttpRequest, uid: Any, slug: str) -> HttpResponse:
    """Return the shortest measured time of a public program as a small SVG image."""
    return badge_of_program(request, program_or_404(uid, slug, None))


@require_safe
@cache_control(public=True, max_age=SHARED_FOR_S)
def workload_badge(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the shortest measured time of a public workload as a small SVG image."""
    profile = profile_of_workload(get_object_or_404(Workload.objects.visible_to(None), slug=slug), None)
    if profile is None:
        raise Http404
    return badge_of_program(request, program_of_profile(profile))


def badge_of_program(request: HttpRequest, program: ProfiledProgram) -> HttpResponse:
    measured = measured_program(program)
    text = f"on {program.platform.name}"
    if measured is not None:
        threads = counted(measured.best_n, "thread")
        is_relative = program.regions[0].workload.time_kind == Workload.TimeKind.RELATIVE
        time = "best" if is_relative else seconds(measured.best_s)
        text = f"{time} with {threads} {text}"
    return badge_image(request, program.name.name, text)


def badge_image(request: HttpRequest, label: str, text: str) -> HttpResponse:
    text = text[:MOST_BADGE_CHARACTERS]
    label_width, text_width = (round(CHARACTER_WIDTH * len(part)) + 12 for part in (label, text))
    context = {
        "label": label,
        "text": text,
        "label_width": label_width,
        "text_width": text_width,
        "width": label_width + text_width,
        "label_middle": label_width / 2,
        "text_middle": label_width + text_width / 2,
    }
    response = render(request, "predictor/badge.svg", context, content_type="image/svg+xml")
    response["Content-Security-Policy"] = "default-src 'none'"
    return response


@require_safe
@xframe_options_exempt
@cache_control(public=True, max_age=SHARED_FOR_S)
def embed(request: HttpRequest, uid: Any) -> HttpResponse:
    """Show the times and intervals of the answer on a page that other sites may embed in a frame.

    The only link on it leads to the source.
    """
    stored = public_prediction(uid)
    context = {"prediction": stored, "answer": stored.answer, "shared": shared_answer(stored.answer)}
    response = render(request, "predictor/embed.html", context)
    response["Content-Security-Policy"] = EMBED_POLICY
    return response


@require_safe
@cache_control(public=True, max_age=SHARED_FOR_S)
def picture_of_prediction(request: HttpRequest, uid: Any) -> HttpResponse:
    """Return the answer as a PNG image for clients that read Open Graph tags.

    The image is cached per revision and version of the code.
    """
    stored = public_prediction(uid)
    key = f"share-picture:{settings.CODE_VERSION}:{stored.uid}:{stored.answer['revision']}"
    content = caches["pages"].get_or_set(key, lambda: picture_of_answer(stored.answer), SHARED_FOR_S)
    return HttpResponse(content, content_type="image/png")


def picture_of_answer(answer: dict[str, Any]) -> bytes:
    source = f"MPET · predicted by {answer['method']}, revision {answer['revision']}"
    if answer["simulated"]:
        source += ", from simulated profiles"
    title = f"{answer['workload']} on {answer['target']}"
    shared = shared_answer(answer)
    line = f"{shared.time} with {counted(shared.n, 'thread')}" if shared.time and shared.n else "relative times"
    return share_picture(title, line, source, answer_drawing(answer, {}, Breakpoints()))
