"""The form "this is wrong" of public platforms and profiles. Only moderators read the reports."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from mpet_site.web.throttling import limit_posts
from profiles.models import Platform, Profile, VisitorReport
from profiles.models.moderation import LONGEST_REPORT

MOST_REPORTS_OF_A_ROW = 20
WHAT_HAPPENS = (
    "Only moderators see the report. They check it.",
    "No account is needed, and nothing about you is stored. You get no reply.",
)


class VisitorReportForm(forms.Form):
    text = forms.CharField(
        label="What is wrong, and how do you know?",
        max_length=LONGEST_REPORT,
        help_text=f"At most {LONGEST_REPORT} characters.",
        widget=forms.Textarea(attrs={"rows": 6}),
    )


@limit_posts("report")
@require_http_methods(["GET", "HEAD", "POST"])
def report_platform(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the report form of a public platform.

    Private platforms cannot be reported, because only their owner can see and change them.
    """
    row = get_object_or_404(Platform.objects.visible_to(None), slug=slug)
    return take_report(request, row.name, reverse("platform", args=[slug]), platform=row)


@limit_posts("report")
@require_http_methods(["GET", "HEAD", "POST"])
def report_profile(request: HttpRequest, uid: Any) -> HttpResponse:
    row = get_object_or_404(Profile.objects.visible_to(None).select_related("platform", "workload"), uid=uid)
    return take_report(
        request, f"{row.workload.name} on {row.platform.name}", reverse("profile", args=[uid]), profile=row
    )


def take_report(request: HttpRequest, name: str, back: str, **subject: Platform | Profile) -> HttpResponse:
    """Return the form, or a page with thanks. There is no redirect, because its message would need a cookie."""
    form = VisitorReportForm(request.POST or None)
    if form.is_bound and VisitorReport.objects.filter(**subject).count() >= MOST_REPORTS_OF_A_ROW:
        form.add_error(None, "This was reported many times already. Moderators will check it.")
    if form.is_valid():
        VisitorReport.objects.create(text=form.cleaned_data["text"], **subject)
        return render(request, "profiles/reported.html", {"name": name, "back": back}, status=201)
    context = {
        "title": f"What is wrong with {name}?",
        "consequences": WHAT_HAPPENS,
        "form": form,
        "button": "Tell the moderators",
        "back": back,
        "back_label": "Back",
    }
    return render(request, "confirm.html", context, status=422 if form.errors else 200)
