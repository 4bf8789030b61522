"""Template tags for pages of profiles/, which does not depend on predictor/: `{% similar "platforms" platform.slug %}`
and `{% standing platform.slug origin %}`."""

from typing import Any

from django import template

from mpet_site.web.background import NotReadyYet, note_outdated
from predictor.comparisons import neighbours_of
from predictor.core.arrays import slug_index
from predictor.core.comparisons.standing import standing_of
from predictor.snapshot.cache import read_database

register = template.Library()
MOST_GROUPS = 12


@register.inclusion_tag("predictor/similar.html", takes_context=True)
def similar(context: Any, kind: Any, slug: str) -> dict[str, Any]:
    try:
        nearest = neighbours_of(context["request"].user, kind, slug)
    except NotReadyYet:  # the rest of the page does not need distances
        note_outdated()
        return {"kind": kind, "slug": slug, "is_not_ready": True}
    neighbours = [(neighbour, neighbour.compared_with(slug)) for neighbour in nearest]
    return {"kind": kind, "slug": slug, "neighbours": neighbours}


@register.inclusion_tag("predictor/standing.html", takes_context=True)
def standing(context: Any, slug: str, origin: str) -> dict[str, Any]:
    """Render the speed of the platform relative to the others, on simulated profiles for the origin "simulated" and on
    measured profiles otherwise."""
    try:
        database = read_database(
            context["request"].user, origins=("simulated" if origin == "simulated" else "measured",)
        )
    except NotReadyYet:
        note_outdated()
        return {"groups": []}
    platform = slug_index(database.platforms, slug)
    return {"groups": [] if platform is None else standing_of(database, platform)[:MOST_GROUPS]}
