"""The stored server and tokens, in the platform's configuration folder and readable by their owner only."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from platformdirs import user_cache_path, user_config_path

from mpet.errors import MpetError, UsageError

OWNER_ONLY = 0o600


def config_file() -> Path:
    folder = os.environ.get("MPET_CONFIG_DIR")
    return (Path(folder) if folder else user_config_path("mpet")) / "config.json"


def cache_folder() -> Path:
    folder = os.environ.get("MPET_CACHE_DIR")
    return Path(folder) if folder else user_cache_path("mpet")


@dataclass
class Config:
    """The server of the last login, and a token for each server."""

    server: Optional[str] = None
    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls) -> Config:
        path = config_file()
        try:
            content: Any = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read: {error}; delete it and run mpet login") from error
        tokens = content.get("tokens") if isinstance(content, dict) else None
        if not isinstance(tokens, dict):
            raise UsageError(f"{path} is not a configuration file of mpet; delete it and run mpet login")
        return cls(content.get("server"), {str(server): str(token) for server, token in tokens.items()})

    def save(self) -> Path:
        """Write a temporary file and rename it over the old file. Only the owner can read either of them."""
        path = config_file()
        unfinished = path.with_suffix(f".{os.getpid()}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished.unlink(missing_ok=True)
            handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"server": self.server, "tokens": self.tokens}, file, indent=1)
            unfinished.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise MpetError(f"{path} cannot be written: {error}; MPET_CONFIG_DIR chooses another folder") from error
        return path


def plain_server(server: str) -> str:
    """Return the address under which tokens are stored: with a scheme, without a trailing slash.

    >>> plain_server("mpet.example.org/")
    'https://mpet.example.org'
    """
    if "://" not in server:
        local = server.split(":", maxsplit=1)[0] in ("localhost", "127.0.0.1")
        server = f"{'http' if local else 'https'}://{server}"
    return server.rstrip("/")


def chosen_server(server: Optional[str]) -> str:
    """Return the given server, else MPET_SERVER, else the server of the last login. Raise UsageError if there is
    none."""
    chosen = server or os.environ.get("MPET_SERVER") or Config.load().server
    if not chosen:
        raise UsageError("no server is set: use --server URL or MPET_SERVER, or run mpet login --server URL once")
    return plain_server(chosen)


def chosen_token(token: Optional[str], server: str) -> Optional[str]:
    """Return the given token, else MPET_TOKEN, else the token that `mpet login` stored for this server."""
    return token or os.environ.get("MPET_TOKEN") or Config.load().tokens.get(server)
