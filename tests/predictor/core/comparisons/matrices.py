"""The distance matrix and the map, computed in one step."""

from predictor.core.comparisons.documents import (
    LARGEST_MATRIX,
    map_of,
    mapped_positions,
    matrix_of,
    positions_with_most_profiles,
)
from predictor.core.comparisons.mean_distances import mean_distances


def distance_matrix(database, kind):
    chosen = positions_with_most_profiles(database, kind, LARGEST_MATRIX)
    return matrix_of(database, kind, chosen, mean_distances(database, kind, chosen, chosen))


def workload_map(database):
    chosen, landmarks = mapped_positions(database)
    return map_of(database, chosen, landmarks, mean_distances(database, "workloads", chosen, landmarks).mean)
