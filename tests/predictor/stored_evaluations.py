"""Stored evaluations and paper reports, for tests of the pages and the API."""

import time

from mpet_site.web.plain_json import nan_to_null
from predictor.accuracy.evaluations import evaluate_subject, read_stored_subject, store_evaluation
from predictor.core.evaluate import Protocol
from predictor.core.methods import METHODS
from predictor.models import Evaluation, PaperReport
from research.paper import paper_results


def evaluate_and_store(names=("mpet2020", "ridge"), origin=None, floor=True, **protocol) -> Evaluation:
    subject = read_stored_subject(origin)
    found = evaluate_subject(
        subject, [METHODS[name] for name in names], Protocol(**({"sample": 6} | protocol)), floor=floor
    )
    return store_evaluation(found, subject, time.perf_counter())


def store_report(origin=None) -> PaperReport:
    subject = read_stored_subject(origin)
    return PaperReport.objects.create(
        revision=subject.database.revision,
        origin=subject.origin,
        method_version="1",
        sample=4,
        seed=0,
        results=nan_to_null(paper_results(subject.database, sample=4)),
    )
