"""What a user, and a token by its scope, may do."""

from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from accounts.models import ApiToken


class Scoped(BasePermission):
    """Reading is public. Writing needs a user, and of a token its scope; a session of the web pages has every scope."""

    scope: str

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.method in SAFE_METHODS:
            return True
        if not request.user.is_authenticated:
            return False
        if isinstance(request.auth, ApiToken) and not request.auth.allows(self.scope):
            self.message = f"This token's scope is '{request.auth.scope}'; this needs '{self.scope}'."
            return False
        return True


class MayUpload(Scoped):
    scope = ApiToken.Scope.UPLOAD.value


class MayPredict(Scoped):
    scope = ApiToken.Scope.PREDICT.value


class MayAsk(MayPredict):
    """Who has no account may, too; a token needs the scope."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return not request.user.is_authenticated or super().has_permission(request, view)
