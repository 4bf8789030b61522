from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.forms import TokenForm
from accounts.models import ApiToken
from mpet_site.pages import twin


@never_cache
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """The user's tokens. A new one is shown in the answer to its own POST and never again, so nothing redirects."""
    user: Any = request.user
    form = TokenForm(request.POST or None)
    secret = None
    if form.is_valid():
        chosen = form.cleaned_data
        _, secret = ApiToken.issue(user, chosen["scope"], name=chosen["name"], expires_at=chosen["lifetime"])
        form = TokenForm()
    context = {
        "form": form,
        "secret": secret,
        "tokens": ApiToken.objects.listed_for(user),
        "section": "tokens",
        "twin": twin("api-tokens"),
    }
    return render(request, "accounts/tokens.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, user_id=request.user.pk)
    token.revoke()
    messages.success(request, f"The token {token.prefix}… is revoked.")
    return redirect("tokens")
