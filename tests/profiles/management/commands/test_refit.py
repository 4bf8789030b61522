"""The command that derives curves and features anew."""

import pytest
from django.core.management import call_command

from profiles.models import Profile
from tests.profiles.deliveries import deliver
from tests.profiles.derived import corrupt, derived
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


def test_command(capsys):
    deliver(sample_measurements(1, 2))
    before = derived()
    corrupt(Profile.objects.filter(pk=Profile.objects.first().pk))
    call_command("refit", "--stale")
    assert capsys.readouterr().out.startswith("1 profiles in ")
    assert derived() == before
    call_command("refit")
    assert capsys.readouterr().out.startswith("2 profiles in ")
    assert derived() == before
