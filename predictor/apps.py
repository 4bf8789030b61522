"""The application `predictor`. It connects receivers and registers background work once the models are loaded."""

from django.apps import AppConfig

from mpet_site.web.periodic_tasks import register_periodic_task


class PredictorConfig(AppConfig):
    name = "predictor"

    def ready(self) -> None:
        from accounts.user_data import register_user_data  # noqa: PLC0415  models are not loaded before
        from predictor import receivers  # noqa: PLC0415
        from predictor.accuracy.own_evaluation import evaluate_if_due  # noqa: PLC0415
        from predictor.computations.asking import request_showcase  # noqa: PLC0415
        from predictor.computations.running import compute, unclaimed_computations  # noqa: PLC0415
        from predictor.dump import VALIDATED_PREDICTIONS  # noqa: PLC0415
        from predictor.models import Computation  # noqa: PLC0415
        from predictor.user_data import QUESTIONS_ASKED  # noqa: PLC0415
        from profiles.dump.rows import register_table  # noqa: PLC0415
        from profiles.jobs.queue import KindOfWork, register_work  # noqa: PLC0415

        receivers.connect()
        register_user_data(QUESTIONS_ASKED)
        register_table(VALIDATED_PREDICTIONS)
        register_work("computations", KindOfWork(2, unclaimed_computations, Computation.claim, compute))
        register_periodic_task("examples of the front page", request_showcase, seconds=120)
        register_periodic_task("evaluation", evaluate_if_due, seconds=300)
