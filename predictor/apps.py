"""The application `predictor`: it listens to deliveries once the models are loaded."""

from django.apps import AppConfig


class PredictorConfig(AppConfig):
    name = "predictor"

    def ready(self) -> None:
        from predictor import receivers  # noqa: PLC0415  models are not there before

        receivers.connect()
