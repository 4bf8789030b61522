"""For pages of profiles/, which knows nothing of predictions: `{% similar "platforms" platform.slug %}`."""

from typing import Any

from django import template

from mpet_site.web.background import NotReadyYet, note_outdated
from predictor.comparisons.neighbours import neighbours_of

register = template.Library()


@register.inclusion_tag("predictor/similar.html", takes_context=True)
def similar(context: Any, kind: Any, slug: str) -> dict[str, Any]:
    try:
        nearest = neighbours_of(context["request"].user, kind, slug)
    except NotReadyYet:  # the rest of the page needs no distance
        note_outdated()
        return {"kind": kind, "slug": slug, "is_not_ready": True}
    neighbours = [(neighbour, neighbour.compared_with(slug)) for neighbour in nearest]
    return {"kind": kind, "slug": slug, "neighbours": neighbours}
