"""What can go wrong, and with which status the command then ends."""

from __future__ import annotations

from typing import Any, Optional


class MpetError(Exception):
    """Something that the user can read; `exit_code` is that of the command."""

    exit_code = 1


class UsageError(MpetError):
    """The question makes no sense, whatever the server says."""

    exit_code = 2


class Refused(MpetError):
    """The server refuses the request; `problem` is its problem document (RFC 9457)."""

    exit_code = 3

    def __init__(self, message: str, problem: Optional[dict[str, Any]] = None) -> None:
        super().__init__(message)
        self.problem = problem or {}


class NoPrediction(Refused):
    """Too little was measured; `advice` says what would help."""

    exit_code = 4

    @property
    def advice(self) -> Optional[str]:
        return self.problem.get("advice")


class NotAllowed(Refused):
    """No valid token, or one without the scope."""

    exit_code = 5


class Unreachable(MpetError):
    """No server answers, or it is busy for longer than anybody waits."""

    exit_code = 6


class KitFailed(MpetError):
    """The benchmark kit, or the measured program, failed; `status` is that of the kit's program, if one ended."""

    exit_code = 7

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        self.status = status


class NothingToCompare(MpetError):
    """No earlier upload of the branch was measured on the same machine."""

    exit_code = 4
