"""Template tag `public_dump`: the newest public dump, or None if there is none yet."""

from django import template

from profiles.dump.published import newest_dump

register = template.Library()
register.simple_tag(newest_dump, name="public_dump")
