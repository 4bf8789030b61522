"""A public prediction on other people's pages: a badge, a frame, and what its address looks like where it is linked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import cache_control
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from predictor.models import Prediction
from profiles.templatetags.quantities import significant

SHARED_FOR_S = 3600  # an answer never changes; that its sources were withdrawn is to be seen soon
MOST_BADGE_CHARACTERS = 60
CHARACTER_WIDTH = 6.6  # of the badge's font, on average, in its unit
BADGE_LABEL = "MPET"
# A frame has no script, loads nothing, and may stand on any page.
EMBED_POLICY = "default-src 'none'; style-src 'self'; img-src 'none'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class SharedAnswer:
    """What fits on a line: the least predicted time, how sure it is, and where."""

    text: str
    time: str
    n: int | None


def shared_answer(answer: dict[str, Any]) -> SharedAnswer:
    """The line of an answer document.

    >>> shared_answer({"target": "i9", "time_kind": "absolute", "curve": [
    ...     {"n": 1, "time_s": 20.0, "low_s": 18.0, "high_s": 22.0},
    ...     {"n": 8, "time_s": 12.4, "low_s": 11.3, "high_s": 13.5}]}).text
    '12.4 s ±8.9 % on i9'
    """
    timed = [point for point in answer["curve"] if point["time_s"] is not None]
    if not timed or answer["time_kind"] == "relative":
        return SharedAnswer(f"predicted on {answer['target']}", "", None)
    best = min(timed, key=lambda point: point["time_s"])
    time = f"{significant(best['time_s'])} s"
    if best["low_s"] is not None and best["high_s"] is not None:
        half_width = (best["high_s"] - best["low_s"]) / 2 / best["time_s"]
        time += f" ±{significant(100 * half_width, 2)} %"
    return SharedAnswer(f"{time} on {answer['target']}", time, int(best["n"]))


def public_prediction(uid: Any) -> Prediction:
    """The one that everybody sees, whoever asks: readers of another page ask for a badge with their cookies."""
    return get_object_or_404(Prediction.objects.public(), uid=uid)


@require_safe
@cache_control(public=True, max_age=SHARED_FOR_S)
def badge(request: HttpRequest, uid: Any) -> HttpResponse:
    """The answer as a small SVG image, for READMEs."""
    text = shared_answer(public_prediction(uid).answer).text[:MOST_BADGE_CHARACTERS]
    label_width, text_width = (round(CHARACTER_WIDTH * len(part)) + 12 for part in (BADGE_LABEL, text))
    context = {
        "label": BADGE_LABEL,
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
    """The answer as a page of its own for a frame on any site: times and intervals, nothing to click but the source."""
    stored = public_prediction(uid)
    context = {"prediction": stored, "answer": stored.answer, "shared": shared_answer(stored.answer)}
    response = render(request, "predictor/embed.html", context)
    response["Content-Security-Policy"] = EMBED_POLICY
    return response
