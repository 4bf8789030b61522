"""HTTP requests to the API, with retries while the server is busy, and with the server's message in errors."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, Optional

import httpx

from mpet.errors import MpetError, NoPrediction, NotAllowed, Refused, Unreachable

BUSY = (429, 503)
LONGEST_PAUSE_S = 60.0
FIRST_PAUSE_S = 0.5
SHORTEST_PAUSE_SAID_S = 1.5
LOGIN_ADVICE = "(mpet login, or --token)"

Progress = Callable[[int, Optional[int]], Any]  # done, total


class Transport:
    """A connection to one server. `patience_s` is the total time for which it waits for one response. `said` is called
    with a line before each longer pause."""

    def __init__(
        self,
        server: str,
        token: Optional[str] = None,
        *,
        patience_s: float = 300.0,
        timeout_s: float = 120.0,
        connection: Optional[httpx.BaseTransport] = None,
        sleep: Callable[[float], Any] = time.sleep,
        said: Optional[Callable[[str], Any]] = None,
    ) -> None:
        headers = {"User-Agent": "mpet-client", "Accept": "application/json, */*;q=0.5"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.server, self.patience_s, self.sleep, self.said = server, patience_s, sleep, said
        self.http = httpx.Client(
            base_url=f"{server}/api/v1/",
            headers=headers,
            timeout=timeout_s,
            follow_redirects=True,  # httpx sends the token to the same server only
            transport=connection,
        )

    def json(self, method: str, path: str, progress: Optional[Progress] = None, **options: Any) -> Any:
        """Send a request and return the JSON document of the response. Wait while the server computes it in the
        background."""
        waited = 0.0
        response = self.send(method, path, **options)
        while response.status_code == 202 and "Retry-After" in response.headers:
            document = document_of(response)
            if progress is not None:
                done = document.get("progress") or {}
                progress(int(done.get("done") or 0), done.get("total"))
            pause = _asked_pause(response, FIRST_PAUSE_S)
            if waited + pause > self.patience_s:
                raise Unreachable(f"the server has not finished after {waited:.0f} s; try again later")
            self.sleep(pause)
            waited += pause
            response = self.send("GET", document["url"])
        return document_of(response)

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return the response. Raise an MpetError if the response is an error. If the server is busy
        (429, 503), repeat the request after the time in Retry-After. Without Retry-After, the pauses double. If a limit
        (429) lasts longer than the patience, raise the error at once."""
        waited, attempt = 0.0, 0
        while True:
            response, failure = self._try(method, path, options)
            if response is not None and response.status_code not in BUSY:
                _raise_refusal(response)
                return response
            pause = _asked_pause(response, FIRST_PAUSE_S * 2**attempt * random.uniform(0.8, 1.2))  # noqa: S311
            reason = f"cannot be reached: {failure}" if response is None else f"is busy: {_message(response)}"
            is_limited = response is not None and response.status_code == 429
            longest = (_retry_after(response) or 0.0) if is_limited else 0.0
            if waited + max(pause, longest) > self.patience_s or (failure is not None and attempt >= 4):
                later = f"; try again in {longest / 60:.0f} minutes" if longest > self.patience_s else ""
                raise Unreachable(f"{self.server} {reason.rstrip('.') if later else reason}{later}")
            if self.said is not None and pause >= SHORTEST_PAUSE_SAID_S:
                self.said(f"{self.server} {reason.rstrip('.')}; trying again in {pause:.0f} s")
            self.sleep(pause)
            waited, attempt = waited + pause, attempt + 1

    def _try(
        self, method: str, path: str, options: dict[str, Any]
    ) -> tuple[Optional[httpx.Response], Optional[httpx.TransportError]]:
        try:
            for _, file in (options.get("files") or {}).values():
                file.seek(0)  # an earlier attempt has read it
            return self.http.request(method, path, **options), None
        except httpx.ConnectError as error:
            return None, error
        except httpx.TransportError as error:
            if method != "GET":  # the server may have processed the request
                raise Unreachable(f"{self.server} closed the connection: {error}") from error
            return None, error


def _asked_pause(response: Optional[httpx.Response], otherwise: float) -> float:
    """Return the seconds to wait: Retry-After, else `otherwise`, but at least 0.05 and at most LONGEST_PAUSE_S."""
    asked = _retry_after(response)
    return min(max(otherwise if asked is None else asked, 0.05), LONGEST_PAUSE_S)


def _retry_after(response: Optional[httpx.Response]) -> Optional[float]:
    """Return the seconds in Retry-After, or None."""
    try:
        return float(response.headers["Retry-After"]) if response is not None else None
    except (KeyError, ValueError):
        return None


def _raise_refusal(response: httpx.Response) -> None:
    status = response.status_code
    if status < 400:
        return
    problem = _problem(response)
    message = _message(response)
    if status in (401, 403):
        raise NotAllowed(f"{message} {LOGIN_ADVICE}", problem)
    if status == 422:
        raise NoPrediction(message, problem)
    if status >= 500:
        raise Unreachable(f"the server failed: {message}")
    raise Refused(f"{response.url}: {message}" if status == 404 else message, problem)


def _problem(response: httpx.Response) -> dict[str, Any]:
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _message(response: httpx.Response) -> str:
    problem = _problem(response)
    message = str(
        problem.get("detail") or problem.get("title") or f"{response.url} answers with status {response.status_code}"
    )
    for error in problem.get("errors") or []:
        if isinstance(error, dict) and str(error.get("reason")) not in message:
            message += f"\n  {error.get('name')}: {error.get('reason')}"
    advice = problem.get("advice")
    return f"{message}\n  {advice}" if advice else message


def document_of(response: httpx.Response) -> Any:
    """Return the JSON document of a response. Raise an MpetError if it has another content, such as a page."""
    try:
        return response.json()
    except ValueError as error:
        raise MpetError(f"{response.url} does not answer with JSON; is it an MPET server?") from error
