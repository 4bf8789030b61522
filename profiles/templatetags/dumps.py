"""The newest public dump, for pages that link to it."""

from django import template

from profiles.dump.published import PublishedDump, newest_dump

register = template.Library()


@register.simple_tag
def public_dump() -> PublishedDump | None:
    """The dump that can be downloaded; None before the first was made."""
    return newest_dump()
