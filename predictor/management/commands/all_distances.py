"""`manage.py all_distances`: the mean distances of all pairs."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from predictor.core.comparisons.mean_distances import MATRIX_ROWS_PER_BATCH, DistancePairs, pair_distances
from predictor.core.database import Database
from predictor.management.subjects import WholeTableCommand
from profiles.dump.files import DumpRow
from profiles.dump.tables import DumpColumn, DumpTable
from profiles.jobs.executors import Executor

DISTANCES_TABLE = DumpTable(
    "distances",
    "Mean distances of all pairs of platforms or of workloads (Eq. 18-19)",
    (
        DumpColumn("first", "string", "slug, sorts before the second", required=True),
        DumpColumn("second", "string", "slug", required=True),
        DumpColumn("distance", "number", "0 to 1, dimensionless", required=True),
        DumpColumn("count", "integer", "number of individual distances", required=True),
    ),
    ("first", "second"),
)


class Command(WholeTableCommand):
    help = "Compute the distances between all platforms or all workloads, and write every pair that can be compared."
    table = DISTANCES_TABLE

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--of", choices=("platforms", "workloads"), default="platforms")

    def parts_of_rows(
        self, database: Database, executor: Executor, options: dict[str, Any]
    ) -> tuple[int, Iterator[Iterator[DumpRow]]]:
        slugs = database.platforms if options["of"] == "platforms" else database.workloads
        parts = pair_distances(database, options["of"], executor)
        return -(-len(slugs) // MATRIX_ROWS_PER_BATCH), (distance_rows(slugs, pairs) for pairs in parts)


def distance_rows(slugs: Sequence[str], pairs: DistancePairs) -> Iterator[DumpRow]:
    columns = (pairs.first.tolist(), pairs.second.tolist(), pairs.mean.tolist(), pairs.count.tolist())
    for first, second, mean, count in zip(*columns, strict=True):
        yield slugs[first], slugs[second], mean, count
