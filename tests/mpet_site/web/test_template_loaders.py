from pathlib import Path

import pytest
from django.template.loader import get_template

from mpet_site.web.template_loaders import strip_indentation

ROOT = Path(__file__).parents[3]
OURS = sorted(ROOT.glob("*/templates/**/*.html"))


def test_indentation_is_not_sent_except_where_it_shows():
    source = "<ul>\n  <li>one</li>\n</ul>\n<pre>\n  as it is</pre>\n\t<p>\n"
    assert strip_indentation(source) == "<ul>\n<li>one</li>\n</ul>\n<pre>\n  as it is</pre>\n<p>\n"
    assert "\n " not in get_template("404.html").render({})


@pytest.mark.parametrize("template", OURS, ids=lambda template: template.name)
def test_no_line_of_a_template_is_longer_than_a_person_reads(template):
    assert max(map(len, template.read_text().splitlines())) <= 120
