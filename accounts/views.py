"""The pages to sign in, to create an account, and for its address, password and tokens."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import get_user_model, login, logout
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.generic import FormView

from accounts.addresses import confirm_address, has_confirmed_address, send_confirmation_link, user_of_link
from accounts.archive_response import archive_response
from accounts.belongings import belongings_of, close_account
from accounts.forms import AddressForm, ClosingForm, ForgottenPasswordForm, SignUpForm, TokenForm
from accounts.models import ApiToken
from mpet_site.web.pages import json_address
from mpet_site.web.throttling import client_address, seconds_to_wait, too_many_requests


class ThrottledForm(FormView):
    """A form that one address may send so often only; what comes too soon is not even read."""

    throttle_scope: str

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if wait_s := seconds_to_wait(self.throttle_scope, client_address(request)):
            context = self.get_context_data(form=self.get_form_class()(), wait_s=wait_s)
            return self.render_to_response(context, status=429, headers={"Retry-After": str(wait_s)})
        return super().post(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(signup=settings.SIGNUP, **kwargs)


class LoginView(ThrottledForm, auth_views.LoginView):
    throttle_scope = "login"


def admin_login(request: HttpRequest) -> HttpResponse:
    """The admin's own page to sign in; its attempts and those of the other page are counted together."""
    if request.method == "POST" and (wait_s := seconds_to_wait(LoginView.throttle_scope, client_address(request))):
        return too_many_requests(request, wait_s)
    return admin.site.login(request)


class SignUpView(auth_views.RedirectURLMixin, ThrottledForm):
    """Makes an account and signs in with it; says whom to ask where MPET_SIGNUP is off."""

    throttle_scope = "signup"
    form_class = SignUpForm
    template_name = "accounts/sign_up.html"
    next_page = settings.LOGIN_REDIRECT_URL

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if settings.SIGNUP:
            return super().dispatch(request, *args, **kwargs)
        return self.render_to_response({"signup": False}, status=403)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(next=self.get_redirect_url(), **kwargs)

    def form_valid(self, form: SignUpForm) -> HttpResponse:
        user = form.save()
        login(self.request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
        if user.email:
            tell_whether_sent(self.request, send_confirmation_link(self.request, user))
        return super().form_valid(form)


def tell_whether_sent(request: HttpRequest, was_sent: bool) -> None:
    if was_sent:
        messages.info(request, "A link to confirm your address is on its way to it. Open it within three days.")
    else:
        messages.warning(request, "Too many mails went to this address lately. Ask for the link again tomorrow.")


class AddressView(LoginRequiredMixin, ThrottledForm):
    """The user's mail address, and whether it is confirmed. What is sent here sends the link to confirm it."""

    throttle_scope = "reset"
    form_class = AddressForm
    template_name = "accounts/address.html"
    success_url = reverse_lazy("address")

    def get_form_kwargs(self) -> dict[str, Any]:
        user: Any = self.request.user
        own = get_user_model()._default_manager.get(pk=user.pk)  # the form changes it before it is valid
        return super().get_form_kwargs() | {"instance": own}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        confirmed = has_confirmed_address(self.request.user)
        return super().get_context_data(confirmed=confirmed, section="tokens", **kwargs)

    def form_valid(self, form: AddressForm) -> HttpResponse:
        user = form.save()
        if user.email and not has_confirmed_address(user):
            tell_whether_sent(self.request, send_confirmation_link(self.request, user))
        return redirect(self.get_success_url())


@require_safe
@never_cache
def confirm_address_link(request: HttpRequest, token: str) -> HttpResponse:
    """The link that was sent: whoever opens it reads the mail of that address."""
    user = user_of_link(token)
    if user is None:
        return render(request, "accounts/old_link.html", status=400)
    if request.method == "GET":
        confirm_address(user)
        messages.success(request, f"{user.email} is confirmed as the address of {user.get_username()}.")
    return redirect("address" if request.user.is_authenticated else "login")


@login_required
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """What is kept of the user, and what can be done with it."""
    context = {"counts": belongings_of(request.user), "section": "account", "twin": json_address("api-account")}
    return render(request, "accounts/account.html", context)


@login_required
@require_safe
def export_account(request: HttpRequest) -> HttpResponseBase:
    """All of it in one archive."""
    if wait_s := seconds_to_wait("export", str(request.user.pk)):
        return too_many_requests(request, wait_s)
    return archive_response(request.user, request)


class ClosingView(LoginRequiredMixin, ThrottledForm):
    """Asks before the account goes with all that is private to it, or names it."""

    throttle_scope = "login"
    form_class = ClosingForm
    template_name = "confirm.html"
    consequences = (
        "Your account, your tokens and your mail address go.",
        "Everything that is private to you goes: uploads with their files and profiles, and predictions.",
        "Predictions from public data that others asked for as well, or that a measurement has validated, stay without "
        "your name.",
        "It cannot be taken back. Take everything along before, if you want to keep it.",
    )

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"user": self.request.user}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            title="Delete your account?",
            consequences=self.consequences,
            button="Delete the account",
            back=reverse_lazy("account"),
            section="account",
            **kwargs,
        )

    def form_valid(self, form: ClosingForm) -> HttpResponse:
        keep_public = form.cleaned_data["public_uploads"] == ClosingForm.LEAVE
        user: Any = self.request.user
        close_account(get_user_model()._default_manager.get(pk=user.pk), keep_public=keep_public)
        logout(self.request)
        messages.success(self.request, "The account is deleted.")
        return redirect("home")


class ForgottenPasswordView(ThrottledForm, auth_views.PasswordResetView):
    throttle_scope = "reset"
    form_class = ForgottenPasswordForm


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The user's tokens. A new one is shown in the answer to its own POST and never again, so nothing redirects."""
    user: Any = request.user
    form = TokenForm(request.POST or None)
    secret = None
    if form.is_valid():
        chosen = form.cleaned_data
        _, secret = ApiToken.issue(user, chosen["scope"], name=chosen["name"], lifetime=chosen["lifetime"])
        form = TokenForm()
    return tokens_page(request, form, secret)


def tokens_page(request: HttpRequest, form: TokenForm, secret: str | None) -> HttpResponse:
    """All tokens of the user, and the secret of the one that was made just now."""
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
    """A new token in the place of a valid one, shown once as every new one."""
    token = get_object_or_404(ApiToken.objects.valid(), pk=pk, user_id=request.user.pk)
    _, secret = token.rotate()
    return tokens_page(request, TokenForm(), secret)


@login_required
@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, user_id=request.user.pk)
    token.revoke()
    messages.success(request, f"The token {token.prefix}… is revoked.")
    return redirect("tokens")
