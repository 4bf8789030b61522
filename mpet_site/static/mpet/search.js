// Suggests names in the search of the header. Choosing one opens its page. Without scripts the form opens a page with
// the results.
(() => {
  "use strict";
  const input = document.querySelector(".site-search input");
  const list = document.getElementById("site-search-names");
  if (!input || !list) return;
  const addresses = new Map();
  let waiting = 0;

  async function offer() {
    const text = input.value.trim();
    if (text.length < 2) return;
    const answer = await fetch(`${input.dataset.names}?most=5&q=${encodeURIComponent(text)}`).catch(() => null);
    if (!answer?.ok || text !== input.value.trim()) return;
    const { results } = await answer.json();
    addresses.clear();
    const options = results.map(({ kind, name, url }) => {
      const shown = addresses.has(name) ? `${name} (${kind})` : name;
      addresses.set(shown, url);
      return Object.assign(document.createElement("option"), { value: shown, label: `${shown} · ${kind}` });
    });
    list.replaceChildren(...options);
  }

  input.addEventListener("input", (event) => {
    const address = addresses.get(input.value);
    // The input event of a choice from the list replaces the text or has no type. All others are typing.
    if (address && !/^(insertText|delete)/.test(event.inputType ?? "")) window.location.assign(address);
    clearTimeout(waiting);
    waiting = setTimeout(offer, 150);
  });
  input.form.addEventListener("submit", (event) => {
    const address = addresses.get(input.value);
    if (!address) return;
    event.preventDefault();
    window.location.assign(address);
  });
})();
