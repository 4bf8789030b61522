"""What an empty form shows: a setting, or the pair with the most profiles; no prediction is made to find it."""

from dataclasses import replace

import pytest

from predictor.core import methods
from predictor.pages.presenting import first_pair
from tests.pages import store_public
from tests.predictor.conftest import store
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


def test_nothing_is_predicted_to_find_the_pair(monkeypatch):
    store_public()
    for method in methods.METHODS.values():
        monkeypatch.setitem(methods.METHODS, method.name, replace(method, predict=lambda *_: pytest.fail("predicted")))
    assert first_pair(None) == ("app0-section0", "machine-0")


def test_the_workload_with_the_most_profiles_and_the_machine_with_the_most_of_these():
    measurements = sample_measurements(3, 3)
    left_out = {(0, 0), (1, 0), (0, 2), (1, 2)}
    kept = [one for one in measurements.profiles if (one.platform, one.workload) not in left_out]
    store(replace(measurements, profiles=kept))
    assert first_pair(None) == ("app0-section1", "machine-2")


def test_the_setting_comes_first_where_the_user_sees_it(settings):
    store_public()
    settings.FIRST_PAIR = ["app1-section0", "machine-2"]
    assert first_pair(None) == ("app1-section0", "machine-2")
    settings.FIRST_PAIR = ["app1-section0", "no-such"]
    assert first_pair(None) == ("app0-section0", "machine-0")


def test_an_empty_database_has_none():
    assert first_pair(None) == ("", "")
