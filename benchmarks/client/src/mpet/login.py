"""Login with a browser: the user confirms a code on a page of the server, and the client fetches a token."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from typing import Any

from mpet.errors import NotAllowed, Refused
from mpet.transport import Transport


def begin_login(transport: Transport) -> dict[str, Any]:
    """Start a login. Return `code` and `url` for the user, and `device_code`, which fetches the token and is not
    shown."""
    program = f"mpet on {platform.node() or 'a machine'}"[:100]
    return dict(transport.json("POST", "login/", json={"program": program}))


def wait_for_token(transport: Transport, begun: Mapping[str, Any]) -> str:
    """Return the token once the user has agreed. Raise NotAllowed if the user refuses or the code expires."""
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
    raise NotAllowed("the code has expired; run mpet login again")
