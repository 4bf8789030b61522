"""Signing in by the browser: a code is shown, the person agrees on a page, and the token comes here."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from typing import Any

from mpet.errors import NotAllowed, Refused
from mpet.transport import Transport


def begin_login(transport: Transport) -> dict[str, Any]:
    """`code` and `url` for the person, and `device_code`, which fetches the token and is not shown."""
    program = f"mpet on {platform.node() or 'a machine'}"[:100]
    return dict(transport.json("POST", "login/", json={"program": program}))


def wait_for_token(transport: Transport, begun: Mapping[str, Any]) -> str:
    """The token, once the person has agreed. NotAllowed where that was refused, or nobody agreed before the code
    ended."""
    end = time.monotonic() + begun["expires_in"]
    while time.monotonic() < end:
        transport.sleep(float(begun["interval"]))
        try:
            answer = transport.json("POST", "login/token/", json={"device_code": begun["device_code"]})
        except NotAllowed as error:
            raise NotAllowed("the login was refused on the page", error.problem) from error
        except Refused as error:
            if error.problem.get("status") != 404:
                raise
            break
        if answer["token"] is not None:
            return str(answer["token"])
    raise NotAllowed("the code has ended; run mpet login again")
