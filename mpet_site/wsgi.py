"""The entry point for WSGI servers. A process that serves pages also keeps the chores."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from mpet_site.web.collector import pause_collector
from mpet_site.web.keeper import start_keeper

pause_collector()
os.umask(0o077)  # whatever a server writes is in the state folder, and its owner's alone
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mpet_site.settings")
application = get_wsgi_application()
import_module(settings.ROOT_URLCONF)  # all pages now: the first visitor would wait a second for them
start_keeper()
