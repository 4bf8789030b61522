import json

import pytest
from django.core.management import CommandError, call_command

from predictor.models import Evaluation
from research.mpet2020_weights import weighted_methods
from research.mpet_ablation import ablation_methods
from tests.predictor.conftest import store
from tests.samples import sample_measurements


@pytest.fixture
def report(db, tmp_path):
    """Runs the command on stored profiles; returns the names of the methods in its report."""
    store(sample_measurements(4, 6))

    def run(*arguments):
        out = tmp_path / "report.json"
        call_command("evaluate_ablation", "--sample", "2", "--json", str(out), *arguments)
        return list(json.loads(out.read_text())["methods"])

    return run


def test_an_ablation_of_mpet2020_has_the_weights_of_the_papers_future_work(report):
    names = report("--method", "mpet2020", "--ablation", "mpet2020")
    assert names == ["mpet2020", *(one.name for one in weighted_methods())]


@pytest.mark.lab
def test_an_ablation_is_added_to_the_methods_and_not_saved(report):
    assert report("--method", "mpet") == ["mpet", *(method.name for method in ablation_methods())]
    assert not Evaluation.objects.exists()
    with pytest.raises(CommandError, match="an ablation cannot be saved"):
        report("--method", "mpet", "--save")
