"""Queries to `mpet`."""

from __future__ import annotations

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.methods import METHODS

MPET = METHODS["mpet"]


def predict(database, workload, target, n=None, *, among=None, group=None, **settings):
    """Return the answer of `mpet`, from the references `among`. `database` may be the arguments of Database.build."""
    database = Database.build(**database) if isinstance(database, dict) else database
    return MPET.predict(database, Query(workload, target, group, among, n), MPET.settings_from(settings))


def predict_named(database, workload, target, n=None):
    return predict(database, database.workloads.index(workload), database.platforms.index(target), n)
