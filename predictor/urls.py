from django.urls import path

from predictor import accuracy_views, views

urlpatterns = [
    path("", views.home, name="home"),
    path("predict/", views.predict, name="predict"),
    path("accuracy/", accuracy_views.accuracy, name="accuracy"),
    path("accuracy/<uuid:uid>/", accuracy_views.evaluation, name="evaluation"),
    path("predictions/<uuid:uid>/", views.prediction, name="prediction"),
]
