"""Our pages of an account: its data, its tokens and its deletion. The other pages belong to django-allauth."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model, logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.device_logins import LoginNotKnown, answer_login, waiting_login
from accounts.forms import ClosingForm, DeviceCodeForm, TokenForm
from accounts.models import ApiToken
from accounts.user_data import archive_response, close_account, user_data_counts
from mpet_site.web.pages import json_address
from mpet_site.web.throttling import seconds_to_wait, too_many_requests


@login_required
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """Show how many objects of the user are stored, and the actions for the account."""
    context = {
        "counts": user_data_counts(request.user),
        "sign_in_elsewhere": bool(settings.SOCIALACCOUNT_PROVIDERS),
        "section": "account",
        "twin": json_address("api-account"),
    }
    return render(request, "accounts/account.html", context)


@login_required
@require_safe
def export_account(request: HttpRequest) -> HttpResponseBase:
    """Return all data of the user in one archive."""
    if wait_s := seconds_to_wait("export", str(request.user.pk)):
        return too_many_requests(request, wait_s)
    return archive_response(request)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_account(request: HttpRequest) -> HttpResponse:
    """Ask for confirmation, and delete the account with all its private data."""
    user: Any = request.user
    form = ClosingForm(request.POST or None, user=user)
    if form.is_valid():
        keep_public = form.cleaned_data["public_uploads"] == ClosingForm.LEAVE
        close_account(get_user_model()._default_manager.get(pk=user.pk), keep_public=keep_public)
        logout(request)
        messages.success(request, "The account is deleted.")
        return redirect("home")
    context = {
        "title": "Delete your account?",
        "consequences": (
            "Your account, your tokens and your mail address are deleted.",
            "All your private data is deleted: uploads with their files and profiles, and predictions.",
            "Predictions from public data that others asked for as well, or that a measurement has validated, stay "
            "without your name.",
            "This cannot be undone. Export your data first if you want to keep it.",
        ),
        "form": form,
        "button": "Delete the account",
        "back": reverse("account"),
        "section": "account",
    }
    return render(request, "confirm.html", context)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """Show the user's tokens, and create one.

    The secret of a new token is only shown in the response to its POST, so the view does not redirect.
    """
    user: Any = request.user
    form = TokenForm(request.POST or None)
    secret = None
    if form.is_valid():
        chosen = form.cleaned_data
        _, secret = ApiToken.issue(user, chosen["scope"], name=chosen["name"], lifetime=chosen["lifetime"])
        form = TokenForm()
    return tokens_page(request, form, secret)


def tokens_page(request: HttpRequest, form: TokenForm, secret: str | None) -> HttpResponse:
    """Return the page of the user's tokens, with the secret of a token that was just created."""
    context = {
        "form": form,
        "secret": secret,
        "tokens": ApiToken.objects.listed_for(request.user),
        "section": "tokens",
        "twin": json_address("api-tokens"),
    }
    return render(request, "accounts/tokens.html", context, status=422 if form.errors else 200)


@never_cache
@login_required
@require_POST
def rotate_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Replace a valid token by a new one, and show the secret of the new token once."""
    token = get_object_or_404(ApiToken.objects.valid(), pk=pk, user_id=request.user.pk)
    _, secret = token.rotate()
    return tokens_page(request, TokenForm(), secret)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def device_login(request: HttpRequest) -> HttpResponse:
    """Show which program asks to be signed in with the entered code and from which address, and store the user's
    answer."""
    form = DeviceCodeForm(request.POST or None)
    context: dict[str, Any] = {"form": form, "section": "account"}
    if form.is_valid():
        code, answer = form.cleaned_data["code"], request.POST.get("answer")
        if answer in ("agree", "deny"):
            try:
                context["answered"] = answer_login(code, request.user, agreed=answer == "agree")
            except LoginNotKnown:  # answered in another window in the meantime
                return redirect("device-login")
        else:
            context["waiting"] = waiting_login(code)
    return render(request, "accounts/device.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, user_id=request.user.pk)
    ApiToken.objects.filter(pk=token.pk).revoke()
    messages.success(request, f"The token {token.prefix}… is revoked.")
    return redirect("tokens")
