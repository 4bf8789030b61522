import atexit
import os
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from profiles.models import Profile
from tests.conftest import skip_or_fail
from tests.pages import store_public

CHROMIUM = Path(os.environ.get("MPET_CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",  # blocks requests to other hosts
]

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright's event loop runs in the thread of the test


def launch(playwright):
    return playwright.chromium.launch(executable_path=str(CHROMIUM), headless=True, args=ARGUMENTS)


@cache
def running() -> Browser:
    """Return the only browser of the process. Playwright cannot be started twice, and other folders import these
    fixtures."""
    playwright = sync_playwright().start()
    atexit.register(playwright.stop)
    return launch(playwright)


@pytest.fixture(scope="session")
def chromium() -> Browser:
    if not CHROMIUM.exists():
        skip_or_fail(f"no Chromium at {CHROMIUM} (MPET_CHROMIUM names another place)")
    return running()


@pytest.fixture
def public(transactional_db) -> list[Profile]:
    """Store four public workloads on each of three platforms. Returns the profiles."""
    return store_public()


class Watch:
    """A recorder of the forbidden events of a browser context: console errors and requests to other hosts.

    Console errors that contain the text `expected` are allowed.
    """

    def __init__(self, context: BrowserContext, own: str) -> None:
        self.own = urlsplit(own).netloc
        self.forget()
        context.on("request", self.note)
        context.on("console", self.listen)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))

    def forget(self) -> None:
        self.expected = ""
        self.errors: list[str] = []
        self.foreign: list[str] = []

    def listen(self, message) -> None:
        if message.type == "error" and not (self.expected and self.expected in message.text):
            self.errors.append(message.text)

    def note(self, request: Request) -> None:
        """Record requests to other hosts. This is a listener, because a route would disable the browser's cache."""
        address = urlsplit(request.url)
        if address.scheme in {"http", "https", "ws", "wss"} and address.netloc != self.own:
            self.foreign.append(request.url)

    def check(self) -> None:
        assert not self.errors
        assert not self.foreign


@pytest.fixture(scope="session")
def shared_context(chromium, live_server):
    """Yield one browser context for all tests, so that Plotly is loaded and compiled only once."""
    context = chromium.new_context()
    yield context, Watch(context, live_server.url)
    context.close()


@pytest.fixture
def visit(shared_context, live_server):
    """Yield visit(path, width=1280, scheme="light", user=None, expected=""), which opens a page in the shared tab.

    With `user`, it signs in first. At the end it checks that there were no errors, except `expected` ones.
    """
    context, watch = shared_context
    watch.forget()

    def open_page(path: str, width: int = 1280, scheme: str = "light", user=None, expected: str = "") -> Page:
        watch.expected = expected
        if user is not None:
            context.add_cookies([session_of(user, live_server.url)])
        page = context.pages[0] if context.pages else context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto(live_server.url + path)
        return page

    yield open_page
    for page in context.pages[1:]:
        page.close()
    for page in context.pages:
        page.unroute_all()
        page.goto("about:blank")
    context.clear_cookies()
    context.clear_permissions()
    watch.check()


@pytest.fixture
def first_visit(chromium, live_server):
    """Yield first_visit(path, user=None), which opens a page in a new browser context with an empty cache."""
    opened: list[BrowserContext] = []

    def open_page(path: str, user=None) -> Page:
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        opened.append(context)
        if user is not None:
            context.add_cookies([session_of(user, live_server.url)])
        page = context.new_page()
        page.goto(live_server.url + path)
        return page

    yield open_page
    for context in opened:
        context.close()


def session_of(user, url: str) -> dict[str, str]:
    """Return the session cookie of a browser in which the user has signed in."""
    client = Client()
    client.force_login(user)
    return {
        "name": settings.SESSION_COOKIE_NAME,
        "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        "url": url,
    }
