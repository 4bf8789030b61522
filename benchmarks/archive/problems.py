"""What is wrong with a tarball, collected: one look at the report is enough to repair it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiles.arrays import IntArray
from profiles.measurements import UnreadableError

PROBLEMS_LISTED = 50  # problems named in one report
PROBLEMS_LISTED_PER_KIND = 10  # rows named for one kind of problem, so that one mistake does not hide the others


@dataclass(frozen=True)
class ArchiveProblem:
    """One reason to refuse a tarball. `member` None: the tarball as a whole; `line` None: no one line is to blame."""

    member: str | None
    line: int | None
    reason: str

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.member, self.line) if part is not None)
        return f"{place}: {self.reason}" if place else self.reason


class ArchiveError(UnreadableError):
    """A refused tarball: `problems` in the order of members and lines, and how many `more` there were."""

    def __init__(self, problems: list[ArchiveProblem], more: int = 0) -> None:
        super().__init__(problems, more)
        self.problems = problems
        self.more = more

    @property
    def member(self) -> str | None:
        return self.problems[0].member

    @property
    def line(self) -> int | None:
        return self.problems[0].line

    @property
    def reason(self) -> str:
        return self.problems[0].reason

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        return "\n".join(lines + [f"and {self.more} more"] * bool(self.more))


class ArchiveProblems:
    """A growing list of problems that stays small however much is wrong."""

    def __init__(self) -> None:
        self._found: list[ArchiveProblem] = []
        self._kinds: Counter[tuple[str | None, str]] = Counter()
        self._members: dict[str | None, int] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def count(self) -> int:
        """How many there are, named or not."""
        return self._kinds.total()

    def add(self, member: str | None, line: int | None, reason: str, kind: str = "") -> None:
        """Problems of one `kind` and member are named PROBLEMS_LISTED_PER_KIND times, then only counted."""
        self._kinds[member, kind] += 1
        self._members.setdefault(member, len(self._members))
        if self._kinds[member, kind] <= (PROBLEMS_LISTED_PER_KIND if kind else PROBLEMS_LISTED):
            self._found.append(ArchiveProblem(member, line, reason))

    def add_rows(
        self, member: str, lines: IntArray, bad: NDArray[np.bool_], kind: str, reason: Callable[[int], str]
    ) -> None:
        """Report each row of the mask `bad`; `reason` is asked only about the rows that will be named."""
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        named = max(0, PROBLEMS_LISTED_PER_KIND - self._kinds[member, kind])
        for row in rows[:named].tolist():
            self.add(member, int(lines[row]), reason(row), kind)
        self._kinds[member, kind] += max(0, len(rows) - named)

    def raise_if_any(self) -> None:
        if not self:
            return
        listed = sorted(self._found, key=lambda p: (self._members[p.member], p.line is None, p.line or 0))[
            :PROBLEMS_LISTED
        ]
        raise ArchiveError(listed, self.count - len(listed))


def quoted(value: object, length: int = 60) -> str:
    """A value as it is shown in a reason: never long, never with control characters."""
    text = repr(value)
    return text if len(text) <= length else f"{text[: length - 1]}…"
