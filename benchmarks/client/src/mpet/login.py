"""Signing in by the browser: a code is shown, the person agrees on a page, and the token comes here."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mpet.errors import NotAllowed, Refused
from mpet.transport import Transport


@dataclass(frozen=True)
class BegunLogin:
    """What the person needs to know, and the code that fetches the token."""

    code: str
    url: str
    expires_in_s: int
    interval_s: float
    device_code: str = field(repr=False)


def begin_login(transport: Transport) -> BegunLogin:
    program = f"mpet on {platform.node() or 'a machine'}"[:100]
    answer = transport.json("POST", "login/", json={"program": program})
    return BegunLogin(
        answer["code"], answer["url"], answer["expires_in"], float(answer["interval"]), answer["device_code"]
    )


def wait_for_token(
    transport: Transport, login: BegunLogin, clock: Callable[[], float] = time.monotonic
) -> dict[str, Any]:
    """`token`, `username` and `expires_at`, once the person has agreed. NotAllowed where that was refused, or nobody
    agreed before the code ended."""
    end = clock() + login.expires_in_s
    while clock() < end:
        transport.sleep(login.interval_s)
        try:
            answer = transport.json("POST", "login/token/", json={"device_code": login.device_code})
        except NotAllowed as error:
            raise NotAllowed("the login was refused on the page", error.problem) from error
        except Refused as error:
            if error.problem.get("status") != 404:
                raise
            break
        if answer["token"] is not None:
            return dict(answer)
    raise NotAllowed("the code has ended; run mpet login again")
