"""The moderators' pages: the queue, decisions, the log and undo. For all other users they do not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from mpet_site.web.pages import page_of
from operations.moderation.forms import DecisionForm, HandledForm, JudgementDecisionForm, MergeDecisionForm
from operations.moderation.queue import QUEUE, QUEUE_PARTS, name_delivery, name_platform, name_profile
from predictor.pages.home import real_machines
from profiles.identity.descriptions import written_value
from profiles.models import ModerationEntry, Platform, Profile, Source
from profiles.moderation import (
    SUBJECTS,
    Action,
    Decision,
    ModerationError,
    Subject,
    handle,
    hide,
    judge,
    merge,
    show,
    undo,
)
from profiles.pages.columns import workload_link

_View = Callable[..., HttpResponse]

# With fewer public measured machines than this, the queue suggests the fleet of public measurements.
FEW_MACHINES = 100


def for_moderators(view: _View) -> _View:
    """Return a view that answers with 404 to all users but moderators, so that it does not reveal that the page
    exists."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user = request.user
        if not (user.is_active and user.is_staff and user.has_perm("profiles.moderate")):
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


@for_moderators
@require_http_methods(["GET", "HEAD", "POST"])
def queue(request: HttpRequest) -> HttpResponse:
    """Show one part of the queue. POST removes the chosen rows of this page from it."""
    part = QUEUE_PARTS.get(request.GET.get("part", QUEUE[0].name), QUEUE[0])
    page = page_of(request, part.find())
    rows = list(page)
    part.prepare(rows)
    form = HandledForm(request.POST or None, keys=[row.pk for row in rows])
    if form.is_valid():
        decision = Decision(request.user, form.cleaned_data["reason"])
        chosen = [row for row in rows if row.pk in form.cleaned_data["keys"]]
        with transaction.atomic():
            for row in chosen:
                handle(row, part.name, decision)
        messages.success(request, f"{len(chosen)} of the rows removed from the queue.")
        return redirect(f"{reverse('moderation')}?part={part.name}")
    machines = real_machines(AnonymousUser())
    context = {
        "parts": QUEUE,
        "part": part,
        "page": page,
        "items": [part.show(row) for row in rows],
        "form": form,
        "section": "moderation",
        "few_machines": machines if machines < FEW_MACHINES else None,
    }
    return render(request, "operations/queue.html", context, status=422 if form.errors else 200)


@for_moderators
@require_safe
def moderation_log(request: HttpRequest) -> HttpResponse:
    page = page_of(request, ModerationEntry.objects.select_related("by", "undoes", "undone_by"))
    context = {"page": page, "entries": with_subjects(page), "section": "moderation"}
    return render(request, "operations/log.html", context)


NAMES: dict[str, Callable[[Any], str]] = {
    Subject.SOURCE: name_delivery,
    Subject.PLATFORM: name_platform,
    Subject.WORKLOAD: lambda workload: workload_link(workload, ""),
    Subject.PROFILE: name_profile,
    Subject.REPORT: lambda report: f"“{report.text[:80]}”",
}
NAMED_RELATIONS: dict[str, tuple[str, ...]] = {Subject.SOURCE: ("upload",), Subject.PROFILE: ("platform", "workload")}


def with_subjects(entries: Iterable[ModerationEntry]) -> list[tuple[ModerationEntry, str, str]]:
    """Return each entry with its subject and its decision. Subjects are read with one query for each kind.

    A subject that has been deleted has no name.
    """
    entries = list(entries)
    names: dict[tuple[str, int], str] = {}
    for kind, model in SUBJECTS.items():
        keys = {entry.subject_key for entry in entries if entry.subject_kind == kind}
        rows: Any = model._default_manager.select_related(*NAMED_RELATIONS.get(kind, ()))
        names |= {(kind, key): NAMES[kind](row) for key, row in rows.in_bulk(keys).items()}
    gone = "deleted {}"
    return [
        (
            entry,
            names.get((entry.subject_kind, entry.subject_key), gone.format(entry.get_subject_kind_display())),
            what_was_decided(entry),
        )
        for entry in entries
    ]


def what_was_decided(entry: ModerationEntry) -> str:
    """Return the details of a decision: the changed facts, the outlier reason or the part of the queue."""
    if entry.action == Action.FACTS:
        before, after = entry.before["decided"], entry.after["decided"]
        changed = sorted(
            name for name in before | after if (name in before, before.get(name)) != (name in after, after.get(name))
        )
        return "; ".join(
            f"{name}: {written_value(after[name]) if name in after else 'as delivered'}" for name in changed
        )
    if entry.action == Action.OUTLIER:
        return f"excluded: {entry.after['reason']}" if entry.after["reason"] else "used by predictions"
    return f"queue: {QUEUE_PARTS[entry.queue].title}" if entry.queue in QUEUE_PARTS else ""


def ask_decision(
    request: HttpRequest, form: DecisionForm, act: Callable[[Decision], Any], **context: Any
) -> HttpResponse:
    """Show the form with the consequences. After a valid POST, carry out the decision, or show why that is not
    possible."""
    if form.is_valid():
        try:
            act(Decision(request.user, form.cleaned_data["reason"]))
        except ModerationError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Done and stored in the log.")
            return redirect("moderation-log")
    context |= {"form": form, "back": reverse("moderation"), "back_label": "Back to the queue", "section": "moderation"}
    return render(request, "confirm.html", context, status=422 if form.errors else 200)


@for_moderators
@require_http_methods(["GET", "HEAD", "POST"])
def moderate_delivery(request: HttpRequest, uid: Any) -> HttpResponse:
    """Hide a public delivery, or show a hidden one again."""
    source = get_object_or_404(Source.objects.public(), uid=uid)
    act = show if source.hidden else hide
    verb = "Show" if source.hidden else "Hide"
    return ask_decision(
        request,
        DecisionForm(request.POST or None),
        lambda decision: act(source, decision),
        title=f"{verb} {source.label}{' again' if source.hidden else ''}?",
        consequences=(
            f"This concerns {source.profiles.count()} profiles, the machines and workloads known only from them, and "
            "its facts about the others.",
            "While it is hidden, nobody sees it, not even its owner, and no prediction uses it.",
        ),
        button=verb,
    )


@for_moderators
@require_http_methods(["GET", "HEAD", "POST"])
def moderate_merge(request: HttpRequest, slug: str) -> HttpResponse:
    duplicate = get_object_or_404(Platform.objects.visible_to(None), slug=slug)
    form = MergeDecisionForm(request.POST or None)
    return ask_decision(
        request,
        form,
        lambda decision: merge(duplicate, form.cleaned_data["kept"], decision),
        title=f"Which machine is {duplicate.name}?",
        consequences=(
            "Its profiles move to the other machine, and its address redirects there. Later deliveries go there, too.",
            "The facts are derived again from the deliveries for both.",
        ),
        button="Merge",
    )


@for_moderators
@require_http_methods(["GET", "HEAD", "POST"])
def moderate_profile(request: HttpRequest, uid: Any) -> HttpResponse:
    profile = get_object_or_404(Profile.objects.public().select_related("platform", "workload"), uid=uid)
    form = JudgementDecisionForm(request.POST or None, initial={"outlier_reason": profile.outlier_reason})
    return ask_decision(
        request,
        form,
        lambda decision: judge(profile, form.cleaned_data["outlier_reason"], decision),
        title=f"Is {profile.workload.name} on {profile.platform.name} an outlier?",
        consequences=("Later computations do not change this decision.",),
        button="Decide",
    )


@for_moderators
@require_http_methods(["GET", "HEAD", "POST"])
def undo_entry(request: HttpRequest, pk: int) -> HttpResponse:
    entry = get_object_or_404(ModerationEntry.objects.select_related("by"), pk=pk)
    return ask_decision(
        request,
        DecisionForm(request.POST or None),
        lambda decision: undo(entry, decision),
        title="Undo this?",
        consequences=(
            f"{entry.by or 'A deleted account'} {entry.get_action_display()} a {entry.get_subject_kind_display()} on "
            f"{entry.at:%-d %B %Y}: {entry.reason}",
            "The former state is restored, and the log has an entry for the undo.",
        ),
        button="Undo",
    )
