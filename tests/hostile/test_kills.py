"""A few kills of real processes (trust 5, third audit 9 and 12); the long campaign: `python -m lab.hostile.kills`."""

import io
import zipfile

import pytest

from lab.hostile.kill_clients import Quarantined, what_is_wrong_with
from lab.hostile.killed_site import Tarball
from lab.hostile.kills import Campaign, may_belong_to

QUICK = {"MPET_LEASE_SECONDS": "3", "MPET_CHORE_SECONDS": "0.5"}
NEVER_SENT = Tarball(b"", (0, 0, 0))


@pytest.mark.parametrize("mode", ["immediate", pytest.param("database", marks=pytest.mark.lab)])
def test_kills_lose_no_upload_and_leave_nothing_stuck(migrated_folder, mode):
    """Whatever can be killed is, once."""
    campaign = Campaign(migrated_folder, mode, environment=QUICK, longest_pause_s=1.5)
    victims = {*campaign.site.victims()}
    figures = campaign.run(kills=len(victims), rounds=1, age_files=True)
    assert figures.wrong == []
    assert figures.kills == dict.fromkeys(victims, 1)
    assert figures.acknowledged > 0
    assert figures.dumps_made_after_kills == 1


def test_the_campaign_sees_what_is_wrong(migrated_folder):
    """An upload that is lost, and one that is still there though it was deleted, are told."""
    campaign = Campaign(migrated_folder, "immediate", environment=QUICK)
    assert campaign.disorder() == []
    campaign.clients.acknowledged["lost"] = "id"
    campaign.clients.deleted.add("there")
    assert campaign.disorder() == ["acknowledged upload lost is not there"]
    campaign.clients.acknowledged.clear()
    assert campaign._wrong_owners({"there": ["ada"], "twice": ["bob", "carl"]}) == [
        "twice is there 2 times, of ['bob', 'carl']",
        "deleted upload there is there",
    ]


@pytest.mark.parametrize(
    ("what", "owners"),
    [
        ({}, ["quarantine-1"]),
        ({"deletion_asked": True}, ["quarantine-1", None]),
        ({"deletion_asked": True, "deleted": True}, [None]),
        ({"asked": {"bob"}}, ["quarantine-1", "bob"]),
        ({"asked": {"bob", "carl"}, "answers": {"bob": 404, "carl": 200}}, ["carl"]),
        ({"asked": {"bob", "carl"}, "answers": {"bob": 404, "carl": 0}}, ["bob", "carl"]),
        ({"asked": {"bob", "carl"}, "answers": {"bob": 200, "carl": 200}}, []),
    ],
)
def test_whose_an_upload_without_an_account_may_be(what, owners):
    row = Quarantined(NEVER_SENT, "quarantine/secret/", **what)
    assert [owner for owner in ("quarantine-1", "bob", "carl", None) if may_belong_to(row, owner)] == owners


def test_a_dump_that_is_cut_off_or_another_is_told():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.csv", "a" * 99)
    content = file.getvalue()
    announced = {"files": [{"format": "csv", "sha256": "0"}]}
    assert what_is_wrong_with(content, "csv", None) == []
    assert "another than announced" in what_is_wrong_with(content, "csv", announced)[0]
    assert "no archive" in what_is_wrong_with(content[:-9], "csv", None)[0]
    assert "damaged member" in what_is_wrong_with(content.replace(b"aaaa", b"aaab", 1), "csv", None)[0]
