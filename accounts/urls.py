from django.urls import path

from accounts import views

urlpatterns = [
    path("accounts/tokens/", views.tokens, name="tokens"),
    path("accounts/tokens/<int:pk>/revoke/", views.revoke, name="revoke-token"),
]
