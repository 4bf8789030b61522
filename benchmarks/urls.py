"""URLs of the pages for measuring and uploading."""

from django.urls import path

from benchmarks import views

urlpatterns = [
    path("measure/", views.measure_guide, name="measure"),
    path("upload/", views.upload, name="upload"),
    path("uploads/", views.uploads, name="uploads"),
    path("uploads/<uuid:uid>/", views.upload_report, name="upload-report"),
    path("uploads/<uuid:uid>/publish/", views.publication, name="publish-upload"),
    path("uploads/<uuid:uid>/delete/", views.delete_upload, name="delete-upload"),
]
