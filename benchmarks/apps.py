"""The application that measures: the kit, its results and the simulator."""

from django.apps import AppConfig

from benchmarks.archive import read_archive
from profiles.readers import KIT_RESULTS, register_reader


class BenchmarksConfig(AppConfig):
    name = "benchmarks"

    def ready(self) -> None:
        register_reader(KIT_RESULTS, read_archive)
