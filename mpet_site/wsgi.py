"""The entry point for WSGI servers. A process that serves pages also keeps the chores."""

import os

from django.core.wsgi import get_wsgi_application
from django.db.backends.signals import connection_created

from mpet_site.starting import load_what_visitors_need
from mpet_site.web.collector import pause_collector
from mpet_site.web.keeper import start_keeper
from mpet_site.web.lock_waits import shorten_waits_of_requests

pause_collector()
os.umask(0o077)  # whatever a server writes is in the state folder, and its owner's alone
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mpet_site.settings")
application = get_wsgi_application()
connection_created.connect(shorten_waits_of_requests)
load_what_visitors_need()
start_keeper()
