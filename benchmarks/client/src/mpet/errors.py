"""Errors of the client, and the exit status of the command for each of them."""

from __future__ import annotations

from typing import Any, Optional


class MpetError(Exception):
    """An error with a message for the user. `exit_code` is the exit status of the command."""

    exit_code = 1


class UsageError(MpetError):
    """Wrong usage of the client, such as an invalid option or file."""

    exit_code = 2


class Refused(MpetError):
    """A request that the server refuses. `problem` is its problem document (RFC 9457)."""

    exit_code = 3

    def __init__(self, message: str, problem: Optional[dict[str, Any]] = None) -> None:
        super().__init__(message)
        self.problem = problem or {}


class NoPrediction(Refused):
    """A prediction for which too little was measured. `advice` is a measurement that would help, if one is known."""

    exit_code = 4

    @property
    def advice(self) -> Optional[str]:
        return self.problem.get("advice")


class NotAllowed(Refused):
    """A request without a valid token, or with a token that does not have the scope."""

    exit_code = 5


class Unreachable(MpetError):
    """A server that does not answer, or that is busy for longer than the client waits."""

    exit_code = 6


class KitFailed(MpetError):
    """A failure of the benchmark kit or of the measured program. `status` is the exit status of the kit's program, if
    it ended."""

    exit_code = 7

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        self.status = status


class NothingToCompare(MpetError):
    """A comparison of uploads that is not possible, such as one without an earlier upload from the same machine."""

    exit_code = 4
