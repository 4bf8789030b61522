"""`manage.py db_worker` is the one that also runs the periodic tasks."""

import pytest
from django.core.management import call_command, get_commands

from benchmarks.management.commands import db_worker
from benchmarks.models import Upload
from tests.benchmarks.uploads import receive, tarball

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media")]


def test_it_takes_the_place_of_the_package_s_and_processes_what_waits(alice, settings, monkeypatch):
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    assert get_commands()["db_worker"] == "benchmarks"
    assert receive(tarball(), alice).status == Upload.Status.RECEIVED
    kept = []
    monkeypatch.setattr(db_worker, "start_periodic_tasks", lambda: kept.append(True))
    call_command("db_worker", batch=True, startup_delay=False, verbosity=0)
    assert Upload.objects.get().status == Upload.Status.ACCEPTED
    assert kept == [True]
