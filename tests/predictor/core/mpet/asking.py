"""Queries to `mpet`."""

from __future__ import annotations

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.estimates import estimate_targets
from predictor.core.methods import METHODS

MPET = METHODS["mpet"]


def predict(database, workload, target, n=None, *, among=None, group=None, **settings):
    """Return the answer of `mpet`, from the references `among`. `database` may be the arguments of Database.build."""
    database = Database.build(**database) if isinstance(database, dict) else database
    return MPET.predict(database, Query(workload, target, group, among, n), MPET.settings_from(settings))


def predict_named(database, workload, target, n=None):
    return predict(database, database.workloads.index(workload), database.platforms.index(target), n)


def estimates_of(database, workload, targets, n=None):
    """Return the complete estimates, the last ones that are yielded."""
    *_, found = estimate_targets(database, workload, targets, n)
    return found
