"""Pages whose answer may take longer than a request: they show what there is, and how far the rest is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers, patch_vary_headers

from mpet_site.web.throttling import may_compute
from predictor.computations.asking import ComputationsFull, LongAnswer, ask
from predictor.computations.running import LongQuestion

COMPUTING_PART = "computing"  # id of the element that asks how far it is


@dataclass(frozen=True)
class ShownAnswer:
    """What a page shows: the whole `document`, the outdated one, that so far, or None; and what it says beside it."""

    document: Mapping[str, Any] | None
    answer: LongAnswer | None

    @property
    def is_full(self) -> bool:
        """No further computation is taken now."""
        return self.answer is None

    @property
    def is_computed(self) -> bool:
        return self.answer is not None and self.answer.is_whole

    @property
    def has_failed(self) -> bool:
        return self.answer is not None and self.answer.has_failed

    @property
    def is_outdated(self) -> bool:
        return self.answer is not None and not self.answer.is_whole and self.answer.outdated is not None


def shown_answer(request: HttpRequest, question: LongQuestion, viewer: Any) -> ShownAnswer:
    """What there is of the answer; `viewer`: against whose snapshot the question is."""
    try:
        answer = ask(question, viewer, may_enqueue=lambda: may_compute(request))
    except ComputationsFull:
        return ShownAnswer(None, None)
    return ShownAnswer(answer.document if answer.is_whole else answer.outdated or answer.document, answer)


def respond_with(
    request: HttpRequest,
    shown: ShownAnswer,
    template: str,
    context: Callable[[], dict[str, Any]],
    part: str = "",
    *,
    is_answer_all: bool = True,
) -> HttpResponse:
    """The page; `is_answer_all`: without the answer it is none (503). Its element that waits gets itself again, as long
    as it has to, and then `part` in its place; without such a template htmx reloads the page. Others that ask by htmx
    get `part`."""
    waits = request.headers.get("HX-Target") == COMPUTING_PART
    if waits and not shown.is_computed:
        response = render(request, "predictor/computing.html", {"shown": shown})
    elif waits and not part:
        response = HttpResponse(headers={"HX-Refresh": "true"})
    else:
        is_part = bool(part) and request.headers.get("HX-Request") == "true"
        status = 503 if shown.is_full and is_answer_all and not is_part else 200  # htmx shows no error
        response = render(request, part if is_part else template, context() | {"shown": shown}, status=status)
    if not shown.is_computed:
        add_never_cache_headers(response)
    if shown.is_full:
        response["Retry-After"] = str(ComputationsFull.retry_after_s)
    patch_vary_headers(response, ("HX-Request", "HX-Target"))
    return response
