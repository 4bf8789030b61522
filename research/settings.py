"""Settings of the site, with the commands of the studies."""

from mpet_site.settings import *  # noqa: F403
from mpet_site.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "research"]
