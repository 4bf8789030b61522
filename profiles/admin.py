"""Moderators merge platforms and decide which profiles are outliers."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest

from profiles.models import Platform, Profile
from profiles.moderation import ModerationError, mark_outlier, merge_platforms


class MergeForm(ActionForm):
    kept = forms.CharField(label="into (slug)", required=False)


class Moderated(admin.ModelAdmin):
    """Public rows, that only uploads make and nothing here deletes."""

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).filter(private_to__isnull=True)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Platform)
class PlatformAdmin(Moderated):
    list_display = ("name", "slug", "cpu_model", "n_nu", "n_ht", "n_max", "hidden", "merged_into")
    list_filter = ("hidden", "device_class")
    list_select_related = ("merged_into",)
    search_fields = ("name", "slug", "cpu_model")
    fields = ("name", "slug", "cpu_model", "vendor", "n_nu", "n_ht", "n_max", "hidden", "merged_into")
    readonly_fields = fields
    action_form = MergeForm
    actions = ("merge",)

    @admin.action(description="Merge the selected platforms", permissions=["change"])
    def merge(self, request: HttpRequest, queryset: QuerySet) -> None:
        slug = request.POST.get("kept", "").strip()
        kept = self.get_queryset(request).filter(slug=slug).first()
        if kept is None:
            self.message_user(request, f"There is no public platform {slug!r} to merge into.", messages.ERROR)
            return
        for duplicate in queryset.exclude(pk=kept.pk):
            try:
                moved = merge_platforms(duplicate, kept)
            except ModerationError as error:
                self.message_user(request, str(error), messages.ERROR)
            else:
                self.log_change(request, duplicate, f"merged into {kept.slug}")
                self.message_user(request, f"{duplicate.slug}: {moved} profiles moved to {kept.slug}.")


@admin.register(Profile)
class ProfileAdmin(Moderated):
    """A profile with an outlier reason takes no part in predictions; empty the reason to take it back. What is saved
    here is a moderator's decision, which no computation changes."""

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
    )
    list_filter = ("origin", "hidden", ("outlier_reason", admin.EmptyFieldListFilter), "outlier_judge")
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
        "outlier_judge",
        "outlier_reason",
    )
    readonly_fields = fields[:-1]

    def save_model(self, request: HttpRequest, obj: Profile, form: Any, change: bool) -> None:
        mark_outlier(obj, obj.outlier_reason)
