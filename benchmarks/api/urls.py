"""The addresses of the API about uploads and the kit."""

from django.urls import path

from benchmarks.api import views

urlpatterns = [
    path("uploads/", views.UploadList.as_view(), name="api-uploads"),
    path("uploads/<uuid:id>/", views.UploadDetail.as_view(), name="api-upload"),
    path("uploads/<uuid:id>/file/", views.UploadFile.as_view(), name="api-upload-file"),
    path("kit/", views.Kit.as_view(), name="api-kit"),
    path("kit/guide/", views.KitGuide.as_view(), name="api-kit-guide"),
]
