"""Admin pages with which moderators merge platforms, set facts of platforms and workloads, and mark outliers."""

from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe

from profiles.identity.descriptions import differences_of, written_value
from profiles.identity.matching import PLATFORM_RULES, WORKLOAD_RULES
from profiles.identity.spelling import TOPOLOGY_COLUMNS
from profiles.judgement.usability import newest_unusable, set_why_unusable
from profiles.measurements.bounds import fact_complaint
from profiles.models import Platform, Profile, Workload
from profiles.models.moderation import LONGEST_DECISION_REASON
from profiles.moderation import Decision, ModerationError, decide, judge, leave, merge


def reason_field(*, required: bool = True) -> forms.CharField:
    return forms.CharField(
        required=required, max_length=LONGEST_DECISION_REASON, label="reason", help_text="Stored in the moderation log."
    )


class ReasonForm(ActionForm):
    """Form of an admin action with its reason."""

    reason = reason_field(required=False)


class MergeForm(ReasonForm):
    kept = forms.CharField(label="into (slug)", required=False)


class FactsForm(forms.ModelForm):
    """Form for facts, with the bounds of profiles.measurements.bounds. As in deliveries, 0 means unknown."""

    reason = reason_field()

    def clean(self) -> dict[str, Any]:
        super().clean()
        for name, value in list(self.cleaned_data.items()):
            if complaint := self._complaint(name, value):
                self.add_error(name, complaint)
            elif value == 0 and value is not False:
                self.cleaned_data[name] = None
        return self.cleaned_data

    def _complaint(self, name: str, value: Any) -> str | None:
        is_list = isinstance(value, list) and all(type(cpu) is int for cpu in value)
        if name == "placement" and value is not None and not is_list:
            return "Enter a list of CPU numbers, such as [0, 1, 2, 3]."
        return fact_complaint(name, value, getattr(self.instance, "threads", None))


class Moderated(admin.ModelAdmin):
    """Admin of public rows, which only uploads create and which cannot be deleted here."""

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).filter(private_to__isnull=True)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def act(self, request: HttpRequest, rows: Iterable[Any], change: Callable[[Any, Decision], Any]) -> list[Any]:
        """Change each row for the reason in the form, and return the results. Refusals are shown as messages."""
        done: list[Any] = []
        try:
            decision = Decision(request.user, request.POST.get("reason", ""))
        except ModerationError as error:
            self.message_user(request, str(error), messages.ERROR)
            return done
        for row in rows:
            try:
                done.append(change(row, decision))
            except ModerationError as error:
                self.message_user(request, str(error), messages.ERROR)
        return done


class FactsAdmin(Moderated):
    """Admin of rows with facts. The identity of a row is read-only.

    A fact that is changed here is a moderator's decision, which overrides all deliveries until it is reset.
    """

    form = FactsForm
    action_form = ReasonForm
    actions: tuple[str, ...] = ("leave",)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        facts = {name: form.cleaned_data[name] for name in form.changed_data if name != "reason"}
        decide(obj, facts, Decision(request.user, form.cleaned_data["reason"]))

    @admin.display(description="decided by moderators")
    def decisions(self, row: Any) -> str:
        return ", ".join(row.decided) or "nothing"

    @admin.display(description="other values in uploads")
    def otherwise(self, row: Any) -> str:
        values = ((found.field, written_value(found.value), len(found.sources)) for found in differences_of(row, None))
        return format_html_join(mark_safe("<br>"), "{}: {} (uploads: {})", values) or "nothing"

    @admin.action(description="Reset the facts of the selected rows to those of the uploads", permissions=["change"])
    def leave(self, request: HttpRequest, queryset: QuerySet) -> None:
        rows = self.act(request, queryset.exclude(decided={}), leave)
        self.message_user(request, f"Facts of {len(rows)} rows were reset to those of the uploads.")


@admin.register(Platform)
class PlatformAdmin(FactsAdmin):
    list_display = ("name", "slug", "cpu_model", "n_nu", "n_ht", "n_max", "hidden", "merged_into")
    list_filter = ("hidden", "device_class")
    list_select_related = ("merged_into",)
    search_fields = ("name", "slug", "cpu_model")
    readonly_fields = (
        *("name", "slug", "cpu_model", *TOPOLOGY_COLUMNS, "hidden", "merged_into", "decisions", "otherwise"),
    )
    fields = (*readonly_fields, *PLATFORM_RULES.fact_columns, "reason")
    action_form = MergeForm
    actions = (*FactsAdmin.actions, "merge")

    @admin.action(description="Merge the selected machines", permissions=["change"])
    def merge(self, request: HttpRequest, queryset: QuerySet) -> None:
        slug = request.POST.get("kept", "").strip()
        target = self.get_queryset(request).filter(slug=slug).first()
        if target is None:
            self.message_user(
                request, f"There is no public machine with the slug {slug!r} to merge into.", messages.ERROR
            )
            return

        def into_kept(duplicate: Platform, decision: Decision) -> tuple[str, int]:
            return duplicate.slug, merge(duplicate, target, decision)[1]

        for slug_of_duplicate, moved in self.act(request, queryset.exclude(pk=target.pk), into_kept):
            self.message_user(request, f"{slug_of_duplicate}: {moved} profiles moved to {target.slug}.")


@admin.register(Workload)
class WorkloadAdmin(FactsAdmin):
    list_display = ("name", "slug", "version", "input", "runtime", "strategy", "bound", "hidden")
    list_filter = ("hidden", "strategy", "bound")
    search_fields = ("name", "slug", "application")
    readonly_fields = ("name", "slug", "version", "input", "runtime", "time_kind", "hidden", "decisions", "otherwise")
    fields = (*readonly_fields, *WORKLOAD_RULES.fact_columns, "reason")


class UsableFilter(admin.SimpleListFilter):
    """Filter for profiles that predictions cannot use."""

    title = "use in predictions"
    parameter_name = "usable"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "cannot be used")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return newest_unusable(queryset) if self.value() == "no" else queryset


class JudgementForm(forms.ModelForm):
    reason = reason_field()


@admin.register(Profile)
class ProfileAdmin(Moderated):
    """Admin of profiles. A profile with an outlier reason is excluded from predictions, and an empty reason includes it
    again.

    A saved value is a moderator's decision, which no computation changes.
    """

    list_display = (
        "uid",
        "platform",
        "workload",
        "origin",
        "n_measured",
        "fit_error",
        "outlier_reason",
        "outlier_judge",
        "hidden",
        "unusable",
    )
    list_filter = (UsableFilter, "origin", "hidden", ("outlier_reason", admin.EmptyFieldListFilter), "outlier_judge")
    list_select_related = ("platform", "workload")
    search_fields = ("platform__name", "workload__name", "platform__slug", "workload__slug")
    show_full_result_count = False
    fields = (
        "uid",
        "platform",
        "workload",
        "source",
        "n_measured",
        "fit_error",
        "warnings",
        "unusable",
        "outlier_judge",
        "outlier_reason",
        "reason",
    )
    readonly_fields = fields[:-2]
    form = JudgementForm

    @admin.display(description="why unusable")
    def unusable(self, profile: Any) -> str:
        if not hasattr(profile, "why_unusable"):
            set_why_unusable([profile])
        return str(profile.why_unusable)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changes = super().get_changelist_instance(request)
        changes.result_list = list(changes.result_list)
        set_why_unusable(changes.result_list)
        return changes

    def save_model(self, request: HttpRequest, obj: Profile, form: Any, change: bool) -> None:
        judge(obj, obj.outlier_reason, Decision(request.user, form.cleaned_data["reason"]))
