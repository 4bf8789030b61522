"""Size and load time of every page in the browser, with the demo: writes docs/page-weights.md.

    python -m tests.browser.page_weights [--repeats 3]

It makes a database in a temporary folder, loads the demo, and serves it as `make run` does: with gunicorn, and with
static files compressed and cached indefinitely. Every page is opened in Chromium with an empty cache, at two widths.
The exit status is 1 if a page is too large.
"""

import argparse
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from tqdm import tqdm

from tests.paths import ROOT

PAGE = ROOT / "docs" / "page-weights.md"
WIDTHS = (1280, 390)
LARGEST_KB = 300  # limit of a page without Plotly
WORKLOAD, TARGET = "sgm-aggregate-simulated", "xeon-e5-2680-simulated"
METHOD = (
    "Written by `make page-weights`. Each page of the demo was opened {repeats} times at each width in Chromium, "
    "with an empty cache, from the server that `make run` starts, on the same machine ({cores} cores, {machine}, "
    "load average {load:.1f}). "
    "The table has the medians, the heaviest pages first. Sizes are those received: compressed, with headers, and "
    "without Plotly ({plotly:.0f} kB). Only pages with a figure (f) load Plotly, and the browser caches it "
    "indefinitely. Times are from the start of the navigation until the load event; figures are drawn after it."
)
TABLE_HEAD = """| page | kB | requests | load at 1280 px, ms | load at 390 px, ms | |
|---|--:|--:|--:|--:|---|
"""


@dataclass(frozen=True)
class Opened:
    """The measurements of opening a page once. Sizes are in kB as received; `size` does not include `plotly`."""

    load_ms: float
    requests: int
    size: float
    plotly: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="how often each page is opened at each width")
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory(prefix="mpet-weights-") as folder:
        pages, cookie = prepare(Path(folder))
        with served() as url, sync_playwright() as playwright:
            browser = launch(playwright)
            opened = weigh(browser, url, pages, cookie, repeats)
            browser.close()
    PAGE.write_text(report(opened, repeats))
    heavy = [name for name, widths in opened.items() if max(one.size for one in widths.values()) > LARGEST_KB]
    sys.stdout.write(f"{len(opened)} pages in {PAGE.relative_to(ROOT)}; too heavy: {', '.join(heavy) or 'none'}\n")
    return 1 if heavy else 0


def prepare(folder: Path) -> tuple[list[tuple[str, str, bool]], dict[str, str]]:
    """Fill a database in the folder, and return the pages and the session cookie of an account.

    Each page is (name, address, whether it needs an account).
    """
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "mpet_site.settings",
        "DJANGO_ALLOW_ASYNC_UNSAFE": "true",
        "MPET_STATE_DIR": str(folder),
        "MPET_STATIC_ROOT": str(folder / "static"),
        "MPET_THROTTLE_ANON": "",
    }
    os.environ.pop("DATABASE_URL", None)
    import django  # noqa: PLC0415  (settings read the environment)

    django.setup()
    from django.conf import settings  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    from profiles.models import Profile  # noqa: PLC0415
    from tests.browser.conftest import session_of  # noqa: PLC0415
    from tests.browser.walk import pages_of  # noqa: PLC0415
    from tests.pages import user  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("load_demo")
    owner = user("ada")
    profile = Profile.objects.get(platform__slug=TARGET, workload__slug=WORKLOAD)
    walk = pages_of(profile, owner, WORKLOAD, TARGET)
    pages = [(name, address, False) for name, address in walk.public.items()]
    pages += [(name, address, True) for name, address in walk.own.items()]
    cookie = session_of(owner, "http://127.0.0.1/")
    return sorted(pages), {"name": settings.SESSION_COOKIE_NAME, "value": cookie["value"]}


def launch(playwright: Any) -> Browser:
    from tests.browser.conftest import launch as launch_chromium  # noqa: PLC0415  (needs settings)

    browser: Browser = launch_chromium(playwright)
    return browser


@contextmanager
def served() -> Iterator[str]:
    """Start gunicorn as the Makefile does, but on a free port and with one worker, and yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "mpet_site.wsgi", "--bind", f"127.0.0.1:{port}", "--workers", "1"]
    server = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url + "/healthz")
        yield url
    finally:
        server.terminate()
        server.wait()


def wait_for(address: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(address):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def weigh(
    browser: Browser, url: str, pages: list[tuple[str, str, bool]], cookie: dict[str, str], repeats: int
) -> dict[str, dict[int, Opened]]:
    """Open every page once to warm up the server, then `repeats` times at each width, and return the medians."""
    found: dict[str, dict[int, Opened]] = {}
    for name, address, own in tqdm(pages, desc="weigh", unit="page"):
        cookies = [cookie | {"url": url}] if own else []
        opened(browser, url + address, WIDTHS[0], cookies)
        found[name] = {
            width: median([opened(browser, url + address, width, cookies) for _ in range(repeats)]) for width in WIDTHS
        }
    return found


def opened(browser: Browser, address: str, width: int, cookies: list[Any]) -> Opened:
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(address, wait_until="load")
    page.wait_for_load_state("networkidle")
    load = page.evaluate("""performance.getEntriesByType("navigation")[0].loadEventEnd""")
    received = page.evaluate(
        """[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].map((entry) =>
           [entry.name, entry.transferSize])"""
    )
    context.close()
    plotly = sum(size for name, size in received if "/plotly" in name)
    return Opened(load, len(received), (sum(size for _, size in received) - plotly) / 1000, plotly / 1000)


def median(several: list[Opened]) -> Opened:
    middle = lambda name: statistics.median(getattr(one, name) for one in several)  # noqa: E731
    return Opened(middle("load_ms"), several[0].requests, middle("size"), middle("plotly"))


def report(opened: dict[str, dict[int, Opened]], repeats: int) -> str:
    method = METHOD.format(
        cores=os.cpu_count(),
        machine=platform.machine(),
        load=os.getloadavg()[1],
        repeats=repeats,
        plotly=max(one.plotly for widths in opened.values() for one in widths.values()),
    )
    rows = "\n".join(row(name, opened[name]) for name in heaviest_first(opened))
    return f"# What the pages weigh\n\n{filled(summary(opened))}\n\n{filled(method)}\n\n{TABLE_HEAD}{rows}\n"


def filled(paragraph: str) -> str:
    return textwrap.fill(paragraph, 120, break_on_hyphens=False)


def summary(opened: dict[str, dict[int, Opened]]) -> str:
    """Return a paragraph on how many pages are within the limit, with the heaviest and the slowest."""
    wide = {name: widths[WIDTHS[0]] for name, widths in opened.items()}
    kilobytes = [one.size for one in wide.values()]
    heaviest = [f"`{name}` ({wide[name].size:.0f} kB)" for name in heaviest_first(opened)[:3]]
    slowest = max(wide, key=lambda name: wide[name].load_ms)
    with_figure = statistics.median(one.load_ms for one in wide.values() if one.plotly) / 1000
    without = statistics.median(one.load_ms for one in wide.values() if not one.plotly) / 1000
    return (
        f"The limit of a page is {LARGEST_KB} kB without Plotly. {sum(size <= LARGEST_KB for size in kilobytes)} of "
        f"{len(opened)} pages are within it; the median is {statistics.median(kilobytes):.0f} kB. The heaviest are "
        f"{', '.join(heaviest)}. A page without a figure loads in {without:.1f} s in the median, one with a figure in "
        f"{with_figure:.1f} s; the slowest, `{slowest}`, takes {wide[slowest].load_ms / 1000:.1f} s."
    )


def heaviest_first(opened: dict[str, dict[int, Opened]]) -> list[str]:
    return sorted(opened, key=lambda name: (-round(opened[name][WIDTHS[0]].size), name))


def row(name: str, widths: dict[int, Opened]) -> str:
    first = widths[WIDTHS[0]]
    times = [f"{widths[width].load_ms:.0f}" for width in WIDTHS]
    cells = [name, f"{first.size:.0f}", str(first.requests), *times, "f" if first.plotly else ""]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
