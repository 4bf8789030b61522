"""What sentences say of curves with known losses."""

import pytest

from profiles.scaling.limits import limit_sentences
from profiles.scaling.roofline import MachineFacts
from tests.profiles.scaling.known_losses import HALF, curves

TURNING = curves([1, 2, 4, 8], [8.0, 4.0, 2.0, 3.0])
FASTER_THAN_IDEAL = curves([1, 8], [9.0, 1.0], imbalance=[0, 0.2])
CHANGING = curves([1, 2, 4], [8.0, 5.0, 4.0], imbalance=[0, 0.15, 0.1], lock=[0, 0.02, 0.3])


@pytest.mark.parametrize(
    ("of", "sentence"),
    [
        (HALF, "4 threads are 3.2 times as fast as one: 80 % of the ideal speedup."),
        (HALF, "Lost thread time at 4 threads: work imbalance 20 %."),
        (HALF, "Without its work imbalance, the speedup at 4 threads could be 4 at best, instead of 3.2."),
        (curves([1, 2], [1.01, 1.01]), "2 threads are as fast as one: 50 % of the ideal speedup."),
        (CHANGING, "The largest loss is work imbalance at n = 2; lock delay at n = 4."),
        (TURNING, "Fastest with 4 threads; with 8 it takes 50 % longer."),
        (
            curves([1, 2], [8.0, 4.0], imbalance=[0, 0]),
            "At 2 threads no part loses more than 2 % of thread time.",
        ),
        (FASTER_THAN_IDEAL, "Lost thread time at 8 threads: work imbalance 20 %."),
    ],
)
def test_a_profile_is_described(of, sentence):
    assert sentence in limit_sentences(of)


def test_they_tell_what_a_breakpoint_costs():
    said = " ".join(limit_sentences(TURNING, MachineFacts(n_ht=4)))
    assert "SMT threads are used (n > 4), the efficiency goes from 100 % at n = 4 to 33 % at n = 8" in said
    assert not any("SMT" in said for said in limit_sentences(TURNING, MachineFacts(n_ht=8)))


def test_no_speedup_beyond_the_threads_is_offered():
    """9 times as fast with 8 threads: what would be without the imbalance, nobody can say."""
    assert not any("at best" in said for said in limit_sentences(FASTER_THAN_IDEAL))
