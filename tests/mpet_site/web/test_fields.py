"""Fields that are read take what JSON has for them, and nothing that looks like it."""

import pytest
from rest_framework.exceptions import ValidationError

from mpet_site.web.fields import LARGEST_NUMBER, PlainBoolean, PlainInteger, PlainNumber, PlainText

TAKEN = {
    PlainBoolean: [True, False],
    PlainInteger: [0, -3, 2**40],
    PlainNumber: [0, 8, -0.5, 1e17],
    PlainText: ["fft", "a b"],
}
OTHER = {
    PlainBoolean: [1, 0, "true", "false", "yes", None],
    PlainInteger: ["8", 8.0, True, 1.5],
    PlainNumber: ["8", True, "nan", 2 * LARGEST_NUMBER, 10**400, float("inf"), float("nan")],
    PlainText: [5, True, 1.5, ["a"], "a\0b", ""],
}


@pytest.mark.parametrize("kind", TAKEN)
def test_only_the_type_itself_is_taken(kind):
    for value in TAKEN[kind]:
        assert kind().run_validation(value) is value
    for value in OTHER[kind]:
        with pytest.raises(ValidationError):
            kind().run_validation(value)
