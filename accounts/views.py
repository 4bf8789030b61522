"""The pages to sign in, to create an account and to manage tokens."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from django.views.generic import FormView

from accounts.forms import SignUpForm, TokenForm
from accounts.models import ApiToken
from mpet_site.web.pages import json_address
from mpet_site.web.throttling import AddressRateThrottle, LoginRateThrottle, SignupRateThrottle


class ThrottledForm(FormView):
    """A form that one address may send so often only; what comes too soon is not even read."""

    throttle: type[AddressRateThrottle]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        throttle: Any = self.throttle()  # made for REST views; it reads the address only
        if throttle.allow_request(request, self):
            return super().post(request, *args, **kwargs)
        wait_s = round(throttle.wait() or 1)
        context = self.get_context_data(form=self.get_form_class()(), wait_s=wait_s)
        return self.render_to_response(context, status=429, headers={"Retry-After": str(wait_s)})

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(signup=settings.SIGNUP, **kwargs)


class LoginView(ThrottledForm, auth_views.LoginView):
    throttle = LoginRateThrottle


class SignUpView(auth_views.RedirectURLMixin, ThrottledForm):
    """Makes an account and signs in with it; says whom to ask where MPET_SIGNUP is off."""

    throttle = SignupRateThrottle
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
        login(self.request, form.save(), backend=settings.AUTHENTICATION_BACKENDS[0])
        return super().form_valid(form)


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
        "twin": json_address("api-tokens"),
    }
    return render(request, "accounts/tokens.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, user_id=request.user.pk)
    token.revoke()
    messages.success(request, f"The token {token.prefix}… is revoked.")
    return redirect("tokens")
