"""`public_dump`: the newest public dump, for pages that link to it; None before the first was made."""

from django import template

from profiles.dump.published import newest_dump

register = template.Library()
register.simple_tag(newest_dump, name="public_dump")
