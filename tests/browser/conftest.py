import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import BrowserContext, Page, Route, sync_playwright

from tests.conftest import skip_or_fail

CHROMIUM = Path(os.environ.get("MPET_CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright's event loop runs in the thread of the test


def launch(playwright):
    return playwright.chromium.launch(executable_path=str(CHROMIUM), headless=True, args=ARGUMENTS)


@pytest.fixture(scope="session")
def chromium():
    if not CHROMIUM.exists():
        skip_or_fail(f"no Chromium at {CHROMIUM} (MPET_CHROMIUM names another place)")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


class Watch:
    """What a page did that no page here may do: errors in the console, requests to other machines. `expected`: words
    of the one error that a test provokes."""

    def __init__(self, context: BrowserContext, own: str, expected: str = "") -> None:
        self.expected = expected
        self.own = urlsplit(own).netloc
        self.errors: list[str] = []
        self.foreign: list[str] = []
        context.route("**/*", self.gate)
        context.on("console", self.listen)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))

    def listen(self, message) -> None:
        if message.type == "error" and not (self.expected and self.expected in message.text):
            self.errors.append(message.text)

    def gate(self, route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.scheme in {"http", "https", "ws", "wss"} and address.netloc != self.own:
            self.foreign.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    def check(self) -> None:
        assert not self.errors
        assert not self.foreign


@pytest.fixture
def visit(chromium, live_server):
    """visit(path, width=1280, scheme="light", user=None, expected="") opens a page; at the end, none may have
    misbehaved but as expected."""
    opened: list[tuple[BrowserContext, Watch]] = []

    def open_page(path: str, width: int = 1280, scheme: str = "light", user=None, expected: str = "") -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        opened.append((context, Watch(context, live_server.url, expected)))
        if user is not None:
            context.add_cookies([session_of(user, live_server.url)])
        page = context.new_page()
        page.goto(live_server.url + path)
        return page

    yield open_page
    for context, watch in opened:
        context.close()
        watch.check()


def session_of(user, url: str) -> dict[str, str]:
    """The cookie of a browser in which the user has signed in."""
    client = Client()
    client.force_login(user)
    return {
        "name": settings.SESSION_COOKIE_NAME,
        "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        "url": url,
    }
