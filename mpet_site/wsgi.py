"""The entry point for WSGI servers. A process that serves pages also keeps the chores."""

import os

from django.core.wsgi import get_wsgi_application

from mpet_site.starting import load_what_visitors_need
from mpet_site.web.collector import pause_collector
from mpet_site.web.keeper import start_keeper

pause_collector()
os.umask(0o077)  # whatever a server writes is in the state folder, and its owner's alone
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mpet_site.settings")
application = get_wsgi_application()
load_what_visitors_need()
start_keeper()
