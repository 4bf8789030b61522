"""The admin pages of API tokens."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from accounts.models import ApiToken, ApiTokenQuerySet


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """The admin of tokens, which lists and revokes them. `manage.py api_token` issues tokens and shows the secret
    once."""

    list_display = ("prefix", "user", "name", "scope", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_filter = ("scope",)
    search_fields = ("prefix", "user__username", "name")
    actions = ("revoke",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None and super().has_change_permission(request)

    @admin.action(description="Revoke the selected tokens", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: ApiTokenQuerySet) -> None:
        queryset.revoke()
