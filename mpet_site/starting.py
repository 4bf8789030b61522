"""What a server loads before anybody asks."""

from django.urls import reverse

from mpet_site.web.collector import pause_collector, resume_collector
from predictor.core.threads import threadpool_controller


def load_what_visitors_need() -> None:
    """All pages and their addresses, and the numerical libraries whose threads are limited: the first visitor would
    wait a second for them."""
    pause_collector()
    reverse("home")
    threadpool_controller()
    resume_collector()
