"""For pages of profiles/, which knows nothing of predictions: `{% similar "platforms" platform.slug %}`."""

from typing import Any

from django import template

from predictor.comparisons.neighbours import neighbours_of

register = template.Library()


@register.inclusion_tag("predictor/similar.html", takes_context=True)
def similar(context: Any, kind: Any, slug: str) -> dict[str, Any]:
    nearest = neighbours_of(context["request"].user, kind, slug)
    neighbours = [(neighbour, neighbour.compared_with(slug)) for neighbour in nearest]
    return {"kind": kind, "slug": slug, "neighbours": neighbours}
