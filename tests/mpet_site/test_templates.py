"""The source of the templates."""

import pytest

from tests.paths import ROOT

OURS = sorted(ROOT.glob("*/templates/**/*.html"))


@pytest.mark.parametrize("template", OURS, ids=lambda template: template.name)
def test_no_line_of_a_template_is_longer_than_a_person_reads(template):
    assert max(map(len, template.read_text().splitlines())) <= 120
