"""Names that are markup are drawn as they are written: no figure, label or saved picture has a link of a stranger's."""

import pytest

from tests.browser.walk import CHARTS, drawn, open_all_tabs, pages_of
from tests.hostile_names import PLATFORM, address_of_program, make_names_hostile
from tests.pages import store_public, user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# What Plotly makes of markup that it finds, in what is drawn and in the label of each trace's first point.
MARKUP = """() => {
  const inside = (place) => place.querySelectorAll("svg a, svg [style*='font-weight: bold']").length;
  let found = 0;
  for (const place of document.querySelectorAll(".plot")) {
    found += inside(place);
    place.data.forEach((trace, curveNumber) => {
      if (!trace.x.length) return;
      window.Plotly.Fx.hover(place, [{ curveNumber, pointNumber: 0 }]);
      found += inside(place);
    });
    window.Plotly.Fx.unhover(place);
  }
  return found;
}"""
# Figures of the same code as those of the page that is named before the comma.
SAME_FIGURES = {"home, chosen", "prediction, changed", "unstored-answer", "what-if, moved", "what-if, refused"}
SAME_FIGURES |= {"ranking, filtered", "profile, thread time"}
TEXTS = "[...document.querySelectorAll('.plot svg text')].map((one) => one.textContent).join('\\n')"


@pytest.fixture
def addresses() -> dict[str, str]:
    walk = pages_of(store_public()[0], user("ada"))
    make_names_hostile()
    figures = {name: walk.public[name] for name in CHARTS if name in walk.public and name not in SAME_FIGURES}
    return figures | {"program": address_of_program()}


@pytest.mark.lab
def test_trust_third_5_no_figure_of_any_page_has_a_link(visit, addresses):
    """A platform of this name was a link on everybody's ranking."""
    found, texts = {}, ""
    for name, address in addresses.items():
        page = visit(address)
        open_all_tabs(page)
        drawn(page)
        found[name] = page.evaluate(MARKUP)
        texts += page.evaluate(TEXTS)
    assert {name: count for name, count in found.items() if count} == {}
    assert '<a href="//e.co">' in texts  # as it is written


def test_what_a_figure_saves_has_the_names_as_they_are_written(visit, addresses):
    page = visit(addresses["ranking"])
    drawn(page)
    figure = page.locator("figure.chart").first

    def saved(format_: str) -> str:
        with page.expect_download() as file:
            figure.locator(f'[data-save="{format_}"]').click()
        return file.value.path().read_text()

    assert PLATFORM.replace('"', '""') in saved("csv")
    assert PLATFORM.replace('"', '\\"') in saved("json")
    picture = saved("svg")
    assert "<a " not in picture
    assert "&#60;a href" in picture  # as Plotly escapes it
