"""Screenshots for docs/tutorial/5-fleet.md from a server that has the fleet, prices and a public program.

    MPET_PROGRAM=http://127.0.0.1:8000/programs/.../relax/ pytest tests/browser/fleet_pictures.py

This is not a test, and pytest does not collect it by its name. `make run DATA=sparecores` starts the server, and the
tutorial page describes how to add the program and the prices.
"""

import os
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page

from tests.browser.screenshot import PHONE, WIDE, picture

PATIENCE_MS = 300_000  # time limit for computing thousands of platforms
BY_COST = "?by=cost&min_memory_gib=8"
LOW = (1000, 560)
# name of the picture -> address relative to the program's, size, colour scheme, element at which the picture begins
PICTURES = {
    "fleet-platforms": ("/platforms/?search=c8i", LOW, "light", ""),
    "fleet-program": ("", WIDE, "light", ""),
    "fleet-cost": (BY_COST, LOW, "light", '[data-figure="cost"]'),
    "fleet-table": (BY_COST, LOW, "light", 'main .table[aria-label^="Ranking"]'),
    "fleet-cost-phone-dark": (BY_COST, PHONE, "dark", '[data-figure="cost"]'),
}


def open_computed(page: Page, address: str) -> None:
    """Open the page and reload it until everything on it is computed."""
    page.goto(address, timeout=PATIENCE_MS)
    for _ in range(PATIENCE_MS // 5_000):
        if not page.get_by_text("computed as soon as").or_(page.get_by_text("This is being computed")).count():
            return
        page.wait_for_timeout(5_000)
        page.reload(timeout=PATIENCE_MS)
    pytest.fail(f"{address} is still being computed")


def test_pictures_of_the_fleet(chromium):
    program = os.environ["MPET_PROGRAM"]
    for name, (address, size, scheme, begin) in PICTURES.items():
        page = chromium.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        open_computed(page, urljoin(program, address))
        picture(page, name, size, begin)
        page.close()
