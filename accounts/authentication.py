"""Authentication by bearer token, and the permissions of users and of tokens by their scope."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import build_bearer_security_scheme_object
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from accounts.models import ApiToken, digest_of
from mpet_site.web.throttling import client_address


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer TOKEN`.

    Unknown, expired and revoked tokens and those of inactive users have the same error message.
    """

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != b"bearer":
            return None
        if len(words) != 2:
            raise AuthenticationFailed("The header is 'Authorization: Bearer TOKEN', with one token.")
        digest = digest_of(words[1].decode("latin-1"))
        token = ApiToken.objects.valid().select_related("user").filter(digest=digest).first()
        if token is None:
            raise AuthenticationFailed("This token is unknown, has expired or was revoked.")
        token.note_use(client_address(request)[:45])
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="mpet"'


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict:
        return build_bearer_security_scheme_object(header_name="Authorization", token_prefix="Bearer")  # noqa: S106


class Scoped(BasePermission):
    """A permission for users to write. Reading is public. A token needs the scope; a session has every scope."""

    scope: str

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.method in SAFE_METHODS:
            return True
        if not request.user.is_authenticated:
            return False
        if isinstance(request.auth, ApiToken) and not request.auth.allows(self.scope):
            self.message = f"The token's scope is '{request.auth.scope}'; this request needs '{self.scope}'."
            return False
        return True


class MayUpload(Scoped):
    scope = ApiToken.Scope.UPLOAD.value


class MayPredict(Scoped):
    scope = ApiToken.Scope.PREDICT.value


class MayAsk(MayPredict):
    """A permission for everybody, with or without an account. A token needs the scope."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return not request.user.is_authenticated or super().has_permission(request, view)
