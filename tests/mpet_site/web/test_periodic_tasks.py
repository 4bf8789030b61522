"""Chores: kept by every process that serves, whatever fails, and by no fork of it twice."""

import threading

import pytest
from django.db import OperationalError

from mpet_site.web import periodic_tasks
from tests.processes import output_of


@pytest.fixture
def own_threads(monkeypatch):
    own = periodic_tasks._PeriodicTasks()
    own.hooked = True  # the process of the tests forks for its own reasons
    monkeypatch.setattr(periodic_tasks, "_running", own)
    monkeypatch.setattr(periodic_tasks, "FIRST_AFTER_SECONDS", (0.0, 0.01))
    yield own
    own.end()


def test_a_chore_that_fails_is_logged_and_tried_again(own_threads, caplog):
    turns, enough = [], threading.Event()

    def fail():
        turns.append(threading.current_thread().name)
        if len(turns) == 3:
            enough.set()
        raise RuntimeError("out of order")

    periodic_tasks.register_periodic_task("doubtful", fail, seconds=0.01)
    periodic_tasks.start_periodic_tasks()
    periodic_tasks.start_periodic_tasks()
    assert enough.wait(30)
    assert "chore doubtful failed" in caplog.text
    assert "out of order" in caplog.text
    assert set(turns) == {"chore doubtful"}


def test_a_database_that_does_not_answer_is_one_line_of_the_log(caplog):
    def ask():
        raise OperationalError("no such table")

    periodic_tasks.PeriodicTask("asking", ask, None).run()
    (record,) = caplog.records
    assert record.getMessage() == "chore asking was not done: no such table"
    assert record.exc_info is None


def test_a_long_chore_keeps_no_other_waiting(own_threads):
    end, other = threading.Event(), threading.Event()
    periodic_tasks.register_periodic_task("long", lambda: end.wait(60))
    periodic_tasks.register_periodic_task("short", other.set)
    periodic_tasks.start_periodic_tasks()
    assert other.wait(30)
    end.set()


def test_a_task_that_is_asked_for_does_not_wait_for_its_interval(own_threads):
    runs, first, second = [], threading.Event(), threading.Event()

    def run():
        runs.append(threading.current_thread().name)
        (second if len(runs) > 1 else first).set()

    seldom = periodic_tasks.register_periodic_task("seldom", run, seconds=600)
    seldom.due.set()  # no thread runs it yet: nobody is asked
    periodic_tasks.start_periodic_tasks()
    assert first.wait(30)
    seldom.due.set()
    assert second.wait(30)
    assert runs == ["chore seldom"] * 2


def test_the_interval_is_the_settings_unless_the_chore_has_its_own(own_threads, settings):
    settings.CHORE_SECONDS = 7
    periodic_tasks.register_periodic_task("usual", print)
    periodic_tasks.register_periodic_task("rare", print, seconds=300)
    assert [(chore.name, chore.interval_s) for chore in periodic_tasks.registered_periodic_tasks()] == [
        ("usual", 7),
        ("rare", 300),
    ]


FORKING_SERVER = """
import os, sys, time
from django.conf import settings
settings.configure(CHORE_SECONDS=0.05)
from mpet_site.web import periodic_tasks
periodic_tasks.FIRST_AFTER_SECONDS = (0.5, 0.5)
periodic_tasks.register_periodic_task("turn", lambda: print(os.getpid(), flush=True))
periodic_tasks.start_periodic_tasks()
child = os.fork()
if child == 0:
    time.sleep(2)
    os._exit(0)
os.waitpid(child, 0)
print("child", child, flush=True)
"""


def test_a_server_that_forks_leaves_the_chores_to_its_children():
    """gunicorn --preload: the parent loads the application, and its children serve."""
    *turns, last = output_of("-c", FORKING_SERVER).splitlines()
    assert len(turns) > 1
    assert {f"child {process}" for process in turns} == {last}


FORK_IN_THE_MIDDLE = """
import os, sys, threading, time
from django.conf import settings
settings.configure(CHORE_SECONDS=60)
from mpet_site.web import periodic_tasks
periodic_tasks.FIRST_AFTER_SECONDS = (0, 0)
begun = threading.Event()
def turn():
    begun.set()
    time.sleep(1)
    os.write(1, b"%d done\\n" % os.getpid())
periodic_tasks.register_periodic_task("turn", turn)
periodic_tasks.start_periodic_tasks()
begun.wait()
child = os.fork()
os.write(1, b"%d forked\\n" % os.getpid())
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""


def test_no_fork_copies_a_chore_halfway():
    """Its connection would be open on both sides, which destroyed a database under the campaign of kills."""
    lines = output_of("-c", FORK_IN_THE_MIDDLE).splitlines()
    assert [line.split()[1] for line in lines] == ["done", "forked", "forked"]
