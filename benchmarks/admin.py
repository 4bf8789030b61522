"""Admin page of uploads: moderators hide uploads and show them again."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from benchmarks.models import Upload
from profiles.admin import Moderated, ReasonForm
from profiles.moderation import hide, show


@admin.register(Upload)
class UploadAdmin(Moderated):
    """Admin of public uploads, which moderators hide or show again. Private uploads are not listed."""

    list_display = ("filename", "owner", "status", "profiles", "is_shown", "created_at")
    list_filter = ("status", "source__hidden")
    search_fields = ("filename", "owner__username", "sha256")
    readonly_fields = ("uid", "owner", "status", "filename", "sha256", "size_bytes", "report", "created_at")
    fields = readonly_fields
    action_form = ReasonForm
    actions = ("hide", "show")

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        rows = admin.ModelAdmin.get_queryset(self, request).filter(visibility=Upload.Visibility.PUBLIC)
        return rows.select_related("source", "owner")

    @admin.display(boolean=True, description="shown")
    def is_shown(self, upload: Upload) -> bool:
        return not upload.hidden

    @admin.display
    def profiles(self, upload: Upload) -> int:
        return upload.source.profiles.count() if upload.source else 0

    @admin.action(description="Hide the data of the selected uploads", permissions=["change"])
    def hide(self, request: HttpRequest, queryset: QuerySet) -> None:
        self._set_hidden(request, queryset, True)

    @admin.action(description="Show the data of the selected uploads again", permissions=["change"])
    def show(self, request: HttpRequest, queryset: QuerySet) -> None:
        self._set_hidden(request, queryset, False)

    def _set_hidden(self, request: HttpRequest, queryset: QuerySet, hidden: bool) -> None:
        """Hide the selected uploads or show them again. Skip uploads that are already in this state, and uploads
        without a public source, because others cannot see them."""
        changed = queryset.filter(source__private_to__isnull=True, source__hidden=not hidden)
        change = hide if hidden else show
        uploads = self.act(request, changed, lambda upload, decision: change(upload.source, decision))
        self.message_user(request, f"{len(uploads)} uploads {'hidden' if hidden else 'shown again'}.")
