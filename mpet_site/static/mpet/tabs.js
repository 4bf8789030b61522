// Turns a list of links to sections of the page into tabs. A link to a section, or to an element in it, opens its tab.
(() => {
  "use strict";

  const list = document.querySelector("[data-tabs]");
  const tabs = [...(list?.querySelectorAll('a[href^="#"]') ?? [])];
  if (!tabs.length) return;
  const panelOf = (tab) => document.getElementById(tab.hash.slice(1));

  function open(tab) {
    for (const other of tabs) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
      panelOf(other).hidden = other !== tab;
    }
    document.dispatchEvent(new Event("mpet:figures"));
  }

  function choose(tab) {
    open(tab);
    history.replaceState(null, "", tab.hash);
    tab.focus();
  }

  function tabOfAddress() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    return target && tabs.find((tab) => panelOf(tab).contains(target));
  }

  list.setAttribute("role", "tablist");
  for (const tab of tabs) {
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", tab.hash.slice(1));
    tab.id = `${tab.hash.slice(1)}-tab`;
    const panel = panelOf(tab);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      choose(tab);
    });
  }
  list.classList.add("ready");
  list.addEventListener("keydown", (event) => {
    const index = tabs.indexOf(document.activeElement);
    const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: -1, " ": index }[event.key];
    if (index < 0 || next === undefined) return;
    event.preventDefault();
    choose(tabs.at(next % tabs.length));
  });
  function openAddressed() {
    const tab = tabOfAddress();
    if (!tab) return;
    open(tab);
    panelOf(tab).scrollIntoView();
  }
  window.addEventListener("hashchange", openAddressed);
  open(tabs[0]);
  openAddressed();
})();
