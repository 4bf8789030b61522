"""What a moderator does, noted with who did it and why, in the transaction that does it; and how it is taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from profiles.models import ModerationEntry, Platform, Profile, Source, VisitorReport, Workload
from profiles.models.moderation import LONGEST_DECISION_REASON
from profiles.moderation.actions import (
    ModerationError,
    decide_facts,
    leave_to_deliveries,
    mark_outlier,
    merge_platforms,
    merge_record,
    restore_decisions,
    restore_judgement,
    separate_platforms,
    set_hidden,
)

Action, Subject = ModerationEntry.Action, ModerationEntry.Subject
SUBJECTS: dict[str, type[Any]] = {
    Subject.SOURCE: Source,
    Subject.PLATFORM: Platform,
    Subject.WORKLOAD: Workload,
    Subject.PROFILE: Profile,
    Subject.REPORT: VisitorReport,
}
SUBJECT_KINDS = {model: kind for kind, model in SUBJECTS.items()}


@dataclass(frozen=True)
class Decision:
    """Who decides, and why; nothing is done without a reason."""

    by: Any
    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ModerationError("A reason is needed: it is kept in the log.")
        if len(self.reason.strip()) > LONGEST_DECISION_REASON:
            raise ModerationError(f"The reason is longer than {LONGEST_DECISION_REASON} characters.")


def note(
    decision: Decision, action: str, row: Any, *, before: Any = None, after: Any = None, queue: str = ""
) -> ModerationEntry:
    return ModerationEntry.objects.create(
        by=decision.by,
        action=action,
        subject_kind=SUBJECT_KINDS[type(row)],
        subject_key=row.pk,
        queue=queue,
        reason=decision.reason.strip(),
        before=before or {},
        after=after or {},
    )


@transaction.atomic
def hide(source: Source, decision: Decision) -> ModerationEntry:
    """Hide a public delivery that is shown."""
    return _set_hidden(source, True, decision)


@transaction.atomic
def show(source: Source, decision: Decision) -> ModerationEntry:
    """Show a public delivery again."""
    return _set_hidden(source, False, decision)


def _set_hidden(source: Source, hidden: bool, decision: Decision) -> ModerationEntry:
    source = Source.objects.select_for_update().get(pk=source.pk)
    if source.private_to_id is not None:
        raise ModerationError("Private data is not moderated.")
    if source.hidden == hidden:
        raise ModerationError(f"This delivery is {'hidden' if hidden else 'shown'} already.")
    set_hidden(source, hidden)
    return note(decision, Action.HIDE if hidden else Action.SHOW, source)


@transaction.atomic
def merge(duplicate: Platform, kept: Platform, decision: Decision) -> tuple[ModerationEntry, int]:
    """Merge two platforms that are one machine; the entry, and how many profiles moved."""
    duplicate, kept = (Platform.objects.get(pk=row.pk) for row in (duplicate, kept))
    record = merge_record(duplicate, kept)
    moved = merge_platforms(duplicate, kept)
    return note(decision, Action.MERGE, duplicate, before=record), moved


def separate(duplicate: Platform, record: dict[str, Any], decision: Decision) -> ModerationEntry:
    separate_platforms(duplicate, record)
    return note(decision, Action.SEPARATE, duplicate, after={"kept": record["kept"]})


@transaction.atomic
def decide(row: Platform | Workload, facts: dict[str, Any], decision: Decision) -> ModerationEntry:
    """A moderator's word on some facts."""
    return _decide(row, lambda: decide_facts(row, facts), decision)


@transaction.atomic
def leave(row: Platform | Workload, decision: Decision) -> ModerationEntry:
    """Leave the facts of a row to deliveries again."""
    return _decide(row, lambda: leave_to_deliveries(row), decision)


def _decide(row: Any, change: Callable[[], None], decision: Decision) -> ModerationEntry:
    before = type(row).objects.get(pk=row.pk).decided
    change()
    after = type(row).objects.get(pk=row.pk).decided
    return note(decision, Action.FACTS, row, before={"decided": before}, after={"decided": after})


@transaction.atomic
def judge(profile: Profile, outlier_reason: str, decision: Decision) -> ModerationEntry:
    """Keep a profile out of predictions for a reason that its page shows; "": let predictions use it."""
    return _judge(profile, lambda row: mark_outlier(row, outlier_reason), decision)


def _judge(profile: Profile, change: Callable[[Profile], None], decision: Decision) -> ModerationEntry:
    row = Profile.objects.select_for_update().get(pk=profile.pk)
    before = {"reason": row.outlier_reason, "judge": row.outlier_judge}
    change(row)
    after = {"reason": row.outlier_reason, "judge": row.outlier_judge}
    return note(decision, Action.OUTLIER, row, before=before, after=after)


@transaction.atomic
def handle(row: Any, queue: str, decision: Decision) -> ModerationEntry:
    """Take a row off a part of the queue."""
    return note(decision, Action.HANDLE, row, queue=queue)


@transaction.atomic
def undo(entry: ModerationEntry, decision: Decision) -> ModerationEntry:
    """Take an entry back, where everything still is as it left it; the entry that says so."""
    entry = ModerationEntry.objects.select_for_update().get(pk=entry.pk)
    if ModerationEntry.objects.filter(undoes=entry).exists():
        raise ModerationError("It was undone already.")
    row = SUBJECTS[entry.subject_kind].objects.filter(pk=entry.subject_key).first()
    if row is None:
        raise ModerationError("What it is about is gone: its owner has deleted it.")
    back = BACK[entry.action](entry, row, decision)
    back.undoes = entry
    back.save(update_fields=["undoes"])
    return back


def _undo_separation(entry: ModerationEntry, row: Platform, decision: Decision) -> ModerationEntry:
    kept = Platform.objects.filter(pk=entry.after["kept"]).first()
    if kept is None:
        raise ModerationError("The machine that it was merged into is gone.")
    return merge(row, kept, decision)[0]


def _undo_decision(entry: ModerationEntry, row: Any, decision: Decision) -> ModerationEntry:
    _check_unchanged(row.decided == entry.after["decided"])
    return _decide(row, lambda: restore_decisions(row, entry.before["decided"]), decision)


def _undo_judgement(entry: ModerationEntry, row: Profile, decision: Decision) -> ModerationEntry:
    _check_unchanged({"reason": row.outlier_reason, "judge": row.outlier_judge} == entry.after)
    return _judge(row, lambda profile: restore_judgement(profile, **entry.before), decision)


def _check_unchanged(is_unchanged: bool) -> None:
    if not is_unchanged:
        raise ModerationError("A later decision exists: undo that first.")


def _hand_back(entry: ModerationEntry, row: Any, decision: Decision) -> ModerationEntry:
    action = Action.REOPEN if entry.action == Action.HANDLE else Action.HANDLE
    return note(decision, action, row, queue=entry.queue)


BACK: dict[str, Callable[[ModerationEntry, Any, Decision], ModerationEntry]] = {
    Action.HIDE: lambda entry, row, decision: show(row, decision),
    Action.SHOW: lambda entry, row, decision: hide(row, decision),
    Action.MERGE: lambda entry, row, decision: separate(row, entry.before, decision),
    Action.SEPARATE: _undo_separation,
    Action.FACTS: _undo_decision,
    Action.OUTLIER: _undo_judgement,
    Action.HANDLE: _hand_back,
    Action.REOPEN: _hand_back,
}
