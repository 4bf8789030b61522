from django.urls import path

from predictor import views

urlpatterns = [
    path("", views.home, name="home"),
    path("predict/", views.predict, name="predict"),
    path("predictions/<uuid:uid>/", views.prediction, name="prediction"),
]
