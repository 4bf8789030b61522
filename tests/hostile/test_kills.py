"""A few kills of real processes (trust 5); the long campaign is `python -m tests.hostile.kills`."""

import pytest

from tests.hostile.kills import Campaign

QUICK = {"MPET_LEASE_SECONDS": "3", "MPET_CHORE_SECONDS": "0.5"}


@pytest.mark.parametrize("mode", ["immediate", "database"])
def test_kills_lose_no_upload_and_leave_nothing_stuck(tmp_path, mode):
    campaign = Campaign(tmp_path, mode, environment=QUICK)
    figures = campaign.run(kills=4, rounds=1, age_files=True)
    assert figures.wrong == []
    assert figures.kills.total() == 4
    assert figures.accepted >= figures.acknowledged > 0


def test_the_campaign_sees_what_is_wrong(tmp_path):
    """An upload that stays "processing", as before, and one that is lost, are told."""
    campaign = Campaign(tmp_path, "immediate", environment=QUICK)
    campaign.site.manage("migrate", "--verbosity", "0")
    assert campaign.disorder() == []
    campaign.acknowledged.add("lost")
    assert campaign.disorder() == ["acknowledged upload is None"]
