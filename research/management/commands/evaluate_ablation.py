"""`python -m research evaluate_ablation`: evaluate variants of a method that change one ingredient each."""

import argparse
from typing import Any

from django.core.management.base import CommandError

from predictor.core.answers import Method
from predictor.core.mpet.method import MPET
from predictor.core.mpet2020.method import MPET2020
from predictor.management.commands.evaluate import Command as EvaluateCommand
from research.mpet2020_weights import weighted_methods
from research.mpet_ablation import ablation_methods

ABLATIONS = {MPET.name: ablation_methods, MPET2020.name: weighted_methods}


class Command(EvaluateCommand):
    help = (
        "Run `manage.py evaluate` also with variants of a method, each with one ingredient changed. Nothing is saved."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--ablation",
            choices=tuple(ABLATIONS),
            default=MPET.name,
            help="variants of mpet (default), or the weights of mpet2020 that the paper leaves to future work",
        )

    def handle(self, **options: Any) -> None:
        if options["save"]:
            raise CommandError("--save: an ablation cannot be saved")
        super().handle(**options | {"save": False})

    def methods(self, options: dict[str, Any]) -> list[Method[Any]]:
        return [*super().methods(options), *ABLATIONS[options["ablation"]]()]
