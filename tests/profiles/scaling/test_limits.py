"""What sentences say of curves with known losses."""

from profiles.scaling.limits import limit_sentences
from profiles.scaling.roofline import MachineFacts
from tests.profiles.scaling.known_losses import HALF, curves


def test_sentences_name_part_share_and_bound():
    said = " ".join(limit_sentences(HALF))
    assert "4 threads are 3.2 times as fast as one: 80 % of the ideal speedup." in said
    assert "Lost thread time at 4 threads: work imbalance 20 %." in said
    assert "Without its work imbalance, the speedup at 4 threads could be 4 at best, instead of 3.2." in said


def test_threads_without_a_gain_are_not_1_times_as_fast():
    assert limit_sentences(curves([1, 2], [1.01, 1.01]))[0] == (
        "2 threads are as fast as one: 50 % of the ideal speedup."
    )


def test_they_tell_where_which_part_leads():
    of = curves([1, 2, 4], [8.0, 5.0, 4.0], imbalance=[0, 0.15, 0.1], lock=[0, 0.02, 0.3])
    assert "The largest loss is work imbalance at n = 2; lock delay at n = 4." in limit_sentences(of)


def test_they_tell_where_more_threads_do_harm_and_what_a_breakpoint_costs():
    of = curves([1, 2, 4, 8], [8.0, 4.0, 2.0, 3.0])
    assert "Fastest with 4 threads; with 8 it takes 50 % longer." in limit_sentences(of)
    assert any("SMT threads are used (n > 4), the efficiency goes from 100 % at n = 4 to 33 % at n = 8" in said
               for said in limit_sentences(of, MachineFacts(n_ht=4)))  # fmt: skip
    assert not any("SMT" in said for said in limit_sentences(of, MachineFacts(n_ht=8)))


def test_a_perfect_profile_is_told_to_be_one():
    of = curves([1, 2], [8.0, 4.0], imbalance=[0, 0])
    assert "At 2 threads no part loses more than 2 % of thread time." in limit_sentences(of)


def test_a_sequential_profile_has_nothing_to_say():
    assert limit_sentences(curves([1], [8.0])) == []


def test_no_speedup_beyond_the_threads_is_offered():
    """9 times as fast with 8 threads: what would be without the imbalance, nobody can say."""
    of = curves([1, 8], [9.0, 1.0], imbalance=[0, 0.2])
    assert "Lost thread time at 8 threads: work imbalance 20 %." in limit_sentences(of)
    assert not any("at best" in said for said in limit_sentences(of))
