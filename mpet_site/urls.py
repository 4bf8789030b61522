"""The root URLconf: the URLs of all applications."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from mpet_site.web.health import healthz
from mpet_site.web.views import components, docs_index, document, favicon, glossary, picture, robots, status

api = [
    path("", include("profiles.api.urls")),
    path("", include("predictor.api.urls")),
    path("", include("benchmarks.api.urls")),
    path("", include("accounts.api.urls")),
    path("", include("mpet_site.api_urls")),
]

handler400 = "mpet_site.web.views.malformed"
handler404 = "profiles.pages.not_found.not_found"
handler500 = "mpet_site.web.views.failed"
urlpatterns = [
    path("", include("predictor.urls")),
    path("", include("profiles.urls")),
    path("", include("benchmarks.urls")),
    path("", include("accounts.urls")),
    path("", include("operations.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include(api)),
    path("docs/", docs_index, name="docs"),
    path("docs/images/<str:name>", picture, name="picture"),
    path("docs/<path:name>", document, name="document"),
    path("glossary/", glossary, name="glossary"),
    path("components/", components, name="components"),
    path("status/", status, name="status"),
    path("robots.txt", robots, name="robots"),
    path("favicon.ico", favicon, name="favicon"),
    path("tokens/", RedirectView.as_view(pattern_name="tokens", permanent=True), name="former-tokens"),
    path("healthz", healthz, name="healthz"),
]
