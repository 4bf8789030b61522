"""URLs of the pages of operators, of moderators and of uploads without an account."""

from django.urls import path

from operations import quarantine_pages
from operations.metrics import metrics
from operations.moderation import views

urlpatterns = [
    path("metrics", metrics, name="metrics"),
    path("upload/without-account/", quarantine_pages.quarantine, name="quarantine"),
    path("upload/claim/", quarantine_pages.claim, name="claim"),
    path("quarantine/<str:secret>/", quarantine_pages.quarantined, name="quarantined"),
    path("quarantine/<str:secret>/claim/", quarantine_pages.begin_claim, name="begin-claim"),
    path("moderation/", views.queue, name="moderation"),
    path("moderation/log/", views.moderation_log, name="moderation-log"),
    path("moderation/log/<int:pk>/undo/", views.undo_entry, name="moderate-undo"),
    path("moderation/deliveries/<uuid:uid>/", views.moderate_delivery, name="moderate-delivery"),
    path("moderation/platforms/<str:slug>/merge/", views.moderate_merge, name="moderate-merge"),
    path("moderation/profiles/<uuid:uid>/", views.moderate_profile, name="moderate-profile"),
]
