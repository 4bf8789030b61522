from django.apps import AppConfig


class PredictorConfig(AppConfig):
    name = "predictor"

    def ready(self) -> None:
        from predictor import deliveries  # noqa: PLC0415  models are not there before

        deliveries.connect()
