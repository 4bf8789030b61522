"""The entry point for WSGI servers. A process that serves pages also runs the periodic tasks."""

import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application
from django.db.backends.signals import connection_created
from django.urls import reverse

from mpet_site.web.lock_waits import shorten_waits_of_requests
from mpet_site.web.periodic_tasks import start_periodic_tasks
from predictor.core.steps import threadpool_controller

# Everything that a server writes is in the state folder, which only its owner may read.
os.umask(0o077)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mpet_site.settings")
application = get_wsgi_application()
connection_created.connect(shorten_waits_of_requests)
# Load all pages and the numerical libraries now, because the first request would otherwise wait a second for them.
reverse("home")
import_module("predictor.extrapolation.document")
threadpool_controller()
start_periodic_tasks()
