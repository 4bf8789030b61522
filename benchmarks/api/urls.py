"""URL patterns of the API for uploads, the quarantine, the kit and the client."""

from django.urls import path

from benchmarks.api import quarantine, views

urlpatterns = [
    path("uploads/", views.UploadList.as_view(), name="api-uploads"),
    path("uploads/<uuid:id>/", views.UploadDetail.as_view(), name="api-upload"),
    path("uploads/<uuid:id>/file/", views.UploadFile.as_view(), name="api-upload-file"),
    path("quarantine/", quarantine.QuarantineSending.as_view(), name="api-quarantine"),
    path("quarantine/<str:secret>/", quarantine.QuarantineDetail.as_view(), name="api-quarantined"),
    path("quarantine/<str:secret>/claim/", quarantine.QuarantineClaim.as_view(), name="api-claim"),
    path("kit/", views.Kit.as_view(), name="api-kit"),
    path("client/<str:name>", views.ClientWheel.as_view(), name="api-client"),
    path("kit/guide/", views.KitGuide.as_view(), name="api-kit-guide"),
    path("kit/<str:architecture>/", views.BuiltKitArchive.as_view(), name="api-kit-built"),
]
