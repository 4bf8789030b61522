"""The addresses of operators' tools and of moderators' pages."""

from django.urls import path

from operations.metrics import metrics
from operations.moderation import views

urlpatterns = [
    path("metrics", metrics, name="metrics"),
    path("moderation/", views.queue, name="moderation"),
    path("moderation/log/", views.moderation_log, name="moderation-log"),
    path("moderation/log/<int:pk>/undo/", views.undo_entry, name="moderate-undo"),
    path("moderation/deliveries/<uuid:uid>/", views.moderate_delivery, name="moderate-delivery"),
    path("moderation/platforms/<str:slug>/merge/", views.moderate_merge, name="moderate-merge"),
    path("moderation/profiles/<uuid:uid>/", views.moderate_profile, name="moderate-profile"),
]
