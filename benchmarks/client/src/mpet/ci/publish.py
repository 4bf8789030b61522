"""What is found, sent on: a comment on the pull request, and a webhook."""

from __future__ import annotations

import os
from typing import Any, Optional

import httpx

from mpet.ci.report import MARKER
from mpet.errors import NotAllowed, Unreachable, UsageError

TIMEOUT_S = 30.0
MOST_PAGES = 20
LONGEST_COMMENT = 60_000  # GitHub refuses more than 65,536 characters


def send(method: str, url: str, **options: Any) -> httpx.Response:
    """One answer that is no error; no redirect is followed, as a token goes with it."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is no address")
    try:
        response = httpx.request(method, url, timeout=TIMEOUT_S, **options)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Unreachable(f"{url} cannot be reached: {error}") from error
    if response.status_code in (401, 403):
        raise NotAllowed(f"{url} answers {response.status_code}: the token may not do that")
    if response.status_code >= 300:
        raise Unreachable(f"{url} answers {response.status_code}")
    return response


def post_comment(repository: str, pull_request: int, text: str, token: Optional[str] = None) -> str:
    """Update the comment that an earlier run of this made, else make one. Returns its address.

    The token is GITHUB_TOKEN's unless given, and the server GITHUB_API_URL's.
    """
    token = token or os.environ.get("GITHUB_TOKEN")
    if not token:
        raise NotAllowed("set GITHUB_TOKEN to a token that may write to pull requests")
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    comments = f"{api}/repos/{repository}/issues/{pull_request}/comments"
    body = {"body": text[:LONGEST_COMMENT]}
    for page in range(1, MOST_PAGES + 1):
        found = send("GET", comments, headers=headers, params={"per_page": 100, "page": page}).json()
        for comment in found:
            # Anybody may write the marker; only a bot's comment can be this action's own.
            if str(comment.get("body", "")).startswith(MARKER) and comment.get("user", {}).get("type") == "Bot":
                url = f"{api}/repos/{repository}/issues/comments/{int(comment['id'])}"
                return str(send("PATCH", url, headers=headers, json=body).json().get("html_url", ""))
        if len(found) < 100:
            break
    return str(send("POST", comments, headers=headers, json=body).json().get("html_url", ""))
