"""The application `predictor`: it listens to deliveries once the models are loaded, and goes on with computations."""

from django.apps import AppConfig

from mpet_site.web.keeper import register_chore


class PredictorConfig(AppConfig):
    name = "predictor"

    def ready(self) -> None:
        from predictor import receivers  # noqa: PLC0415  models are not there before
        from predictor.computations.tasks import take_up_computations  # noqa: PLC0415

        receivers.connect()
        register_chore("computations", take_up_computations)
