"""The API lists a user's own tokens."""

from typing import Any, ClassVar

from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.permissions import IsAuthenticated

from accounts.api.serializers import TokenSerializer
from accounts.models import ApiToken
from mpet_site.web.api import ListView
from mpet_site.web.etags import etag_of
from mpet_site.web.filters import ChoiceFilter


class TokenFilter(FilterSet):
    scope = ChoiceFilter(tuple(ApiToken.Scope.values))

    class Meta:
        model = ApiToken
        fields: tuple[str, ...] = ()


@extend_schema_view(get=extend_schema(operation_id="tokens_list", summary="Your own API tokens, without their secrets"))
class TokenList(ListView):
    """Your own tokens, the newest first. New ones come from the page of your tokens, which shows the secret once."""

    permission_classes = (IsAuthenticated,)
    queryset = ApiToken.objects.none()
    serializer_class = TokenSerializer
    csv_serializer_class = TokenSerializer
    filterset_class = TokenFilter
    search_fields = ("name", "prefix")
    ordering_fields: ClassVar[dict[str, str]] = {
        "created_at": "created_at",
        "expires_at": "expires_at",
        "last_used_at": "last_used_at",
    }

    def get_queryset(self) -> Any:
        return ApiToken.objects.listed_for(self.request.user)

    def etag(self, queryset: Any) -> str:
        rows = queryset.values_list("pk", "last_used_at", "revoked_at", "valid")
        return etag_of(self.request.build_absolute_uri(), self.request.accepted_renderer.format, *rows)
