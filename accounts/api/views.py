"""Views of the API about accounts: tokens, the account, its export, and sign-in of programs by the browser."""

from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from django.urls import reverse
from django_filters.rest_framework import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound, PermissionDenied, Throttled
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.serializers import (
    AccountSerializer,
    BegunLoginSerializer,
    DeviceCodeSerializer,
    HandedOutTokenSerializer,
    LoginRequestSerializer,
    TokenSerializer,
)
from accounts.device_logins import LOGIN_LIFETIME, POLL_S, LoginDenied, LoginNotKnown, begin_login, hand_out_token
from accounts.models import ApiToken
from accounts.user_data import archive_response, user_data_counts
from mpet_site.web.api import ApiView, ListView
from mpet_site.web.etags import etag_of, respond_unless_unchanged
from mpet_site.web.filters import ChoiceFilter
from mpet_site.web.renderers import ArchiveRenderer
from mpet_site.web.throttling import client_address, seconds_to_wait


class TokenFilter(FilterSet):
    scope = ChoiceFilter(tuple(ApiToken.Scope.values))

    class Meta:
        model = ApiToken
        fields: tuple[str, ...] = ()


@extend_schema_view(get=extend_schema(operation_id="tokens_list", summary="Your own API tokens, without their secrets"))
class TokenList(ListView):
    """Your own tokens, the newest first. You can create tokens on the page of your tokens, which shows the secret
    once."""

    permission_classes = (IsAuthenticated,)
    queryset = ApiToken.objects.none()
    serializer_class = TokenSerializer
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


class AccountView(ApiView):
    """Your account, and the number of stored objects of each kind that belong to it."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(operation_id="account_read", summary="Your account", responses={200: AccountSerializer})
    def get(self, request: Request) -> HttpResponseBase:
        user: Any = request.user
        document = {
            "username": user.get_username(),
            "email": user.email,
            "joined_at": user.date_joined,
            "counts": user_data_counts(user),
        }
        data = AccountSerializer(document).data
        return respond_unless_unchanged(request, etag_of(user.pk, repr(data)), lambda: Response(data))


class AskedByPrograms(ApiView):
    """A view for programs that are not signed in. It ignores tokens and sessions in the request."""

    authentication_classes = ()
    permission_classes = ()

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response


class BeginLogin(AskedByPrograms):
    """Begin to sign a program in by the browser. The response has one code to show to the person and one code to
    keep."""

    @extend_schema(
        operation_id="login_begin",
        summary="Begin to sign a program in by the browser",
        request=LoginRequestSerializer,
        responses={200: BegunLoginSerializer},
    )
    def post(self, request: Request) -> Response:
        sent = LoginRequestSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        address = client_address(request)
        if wait_s := seconds_to_wait("device", address):
            raise Throttled(wait_s)
        login, device_code = begin_login(sent.validated_data["program"], address)
        half = len(login.code) // 2
        document = {
            "device_code": device_code,
            "code": f"{login.code[:half]}-{login.code[half:]}",
            "url": request.build_absolute_uri(reverse("device-login")),
            "expires_in": int(LOGIN_LIFETIME.total_seconds()),
            "interval": POLL_S,
        }
        return Response(BegunLoginSerializer(document).data)


class HandOutToken(AskedByPrograms):
    """Return the token once, after the person has agreed. Until then it is null; after a refusal, the status is 403."""

    @extend_schema(
        operation_id="login_token",
        summary="The token of a program that was signed in",
        request=DeviceCodeSerializer,
        responses={200: HandedOutTokenSerializer, 403: None, 404: None},
    )
    def post(self, request: Request) -> Response:
        sent = DeviceCodeSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        try:
            handed = hand_out_token(sent.validated_data["device_code"])
        except LoginNotKnown as error:
            raise NotFound from error
        except LoginDenied as error:
            raise PermissionDenied("The login was refused on the page.") from error
        document: dict[str, Any] = {"token": None, "username": None, "expires_at": None}
        if handed is not None:
            token, secret = handed
            document = {"token": secret, "username": token.user.get_username(), "expires_at": token.expires_at}
        return Response(HandedOutTokenSerializer(document).data)


class AccountExport(ApiView):
    """All your data as one tar archive, created while it is sent: `account.json`, the tarballs in `uploads/` with their
    reports, and `profiles/` and `predictions/` in the form of this API."""

    permission_classes = (IsAuthenticated,)
    renderer_classes = (ArchiveRenderer,)

    @extend_schema(operation_id="account_export", summary="All your data", responses={200: OpenApiTypes.BINARY})
    def get(self, request: Request) -> HttpResponseBase:
        if wait_s := seconds_to_wait("export", str(request.user.pk)):
            raise Throttled(wait_s)
        return archive_response(request)
