"""A few kills of real processes (trust 5); the long campaign is `python -m tests.hostile.kills`."""

import pytest

from tests.hostile.kills import Campaign

QUICK = {"MPET_LEASE_SECONDS": "3", "MPET_CHORE_SECONDS": "0.5"}


@pytest.mark.parametrize("mode", ["immediate", "database"])
def test_kills_lose_no_upload_and_leave_nothing_stuck(migrated_folder, mode):
    """Whatever can be killed is, once."""
    campaign = Campaign(migrated_folder, mode, environment=QUICK, longest_pause_s=1.5)
    victims = {*campaign.site.victims()}
    figures = campaign.run(kills=len(victims), rounds=1, age_files=True)
    assert figures.wrong == []
    assert figures.kills == dict.fromkeys(victims, 1)
    assert figures.accepted >= figures.acknowledged > 0


def test_the_campaign_sees_what_is_wrong(migrated_folder):
    """An upload that stays "processing", as before, and one that is lost, are told."""
    campaign = Campaign(migrated_folder, "immediate", environment=QUICK)
    assert campaign.disorder() == []
    campaign.acknowledged.add("lost")
    assert campaign.disorder() == ["acknowledged upload is None"]
