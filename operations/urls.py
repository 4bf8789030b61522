"""The addresses that an operator's tools ask."""

from django.urls import path

from operations.metrics import metrics

urlpatterns = [path("metrics", metrics, name="metrics")]
