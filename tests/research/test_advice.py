"""The study of advice: what counts as right, and that what is hidden cannot be advised from."""

from dataclasses import replace

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from predictor.core.evaluate import Protocol
from research.advice import Advised, advice_statistics, advised_pairs
from tests.predictor.core.databases import database_of, features


def test_the_statistics_are_shares_and_means_in_percent():
    pairs = [
        Advised(0.95, True, True, 0.01, 0.0),
        Advised(0.95, True, False, 0.03, 0.20),
        Advised(0.50, False, False, 0.10, 0.40),
        Advised(1.00, True, False, 0.0, 0.10),
    ]
    assert advice_statistics(pairs) == {
        "pairs": 4,
        "within_5_percent": 75.0,
        "all_within_5_percent": 25.0,
        "mean_loss_percent": pytest.approx(3.5),
        "mean_loss_of_all_percent": pytest.approx(17.5),
        "said_percent": pytest.approx(85.0),
        "chances": [
            [pytest.approx(50.0), 0.0, 1],
            [pytest.approx(95.0), 100.0, 2],
            [pytest.approx(100.0), 100.0, 1],
        ],
    }


def database(planted):
    """Curves t(1) / n on five machines; on m0, w0 was measured `planted` times as slow with four threads."""
    rows = {(f"m{m}", f"w{w}"): (float(1 + m) * (1 + w), features()) for m in range(5) for w in range(5)}
    made = database_of(rows)
    time_s = made.curve_time_s.copy()
    row = int(np.flatnonzero((made.platform_index == 0) & (made.workload_index == 0))[0])
    time_s[made.curve_offsets[row] + 2] *= planted
    return replace(made, curve_time_s=time_s), row


def test_what_is_hidden_changes_what_is_right_and_not_what_is_advised():
    honest, row = database(planted=1.0)
    planted, _ = database(planted=1000.0)
    first, second = (list(advised_pairs(one, Protocol(targets=(0,))))[row] for one in (honest, planted))
    assert first.probability == second.probability
    assert first.is_right and not second.is_right
    assert second.loss > 100


@pytest.mark.django_db
def test_a_folder_without_curves_is_a_clear_error(tmp_path):
    with pytest.raises(CommandError, match=r"dataset\.json"):
        call_command("evaluate_advice", dataset=tmp_path)
