// Requests predictions while a slider moves, one request at a time, and updates the address. Without scripts the form
// has a button.
(() => {
  "use strict";
  const form = document.getElementById("what-if");
  const sliders = [...form.querySelectorAll("input[type=range]")];
  let asking = false;
  let moved = false;

  function spelled({ value, dataset }) {
    if (dataset.kind === "factor") return `× ${Number(value)}`;
    if (dataset.kind === "clock") return `${Number(value)} MHz`;
    return Number(value) ? value : "none";
  }

  function label(slider) {
    slider.parentElement.querySelector("output").textContent = spelled(slider);
    slider.setAttribute("aria-valuetext", spelled(slider));
  }

  // Returns the query: the pair and the sliders that are not in their neutral position.
  function state() {
    const pair = [...form.querySelectorAll("input[type=hidden]")].map(({ name, value }) => [name, value]);
    const changed = sliders.filter((one) => !one.disabled && Number(one.value) !== Number(one.dataset.neutral));
    return new URLSearchParams([...pair, ...changed.map(({ name, value }) => [name, value])]);
  }

  const figures = (root) => [...root.querySelectorAll("[data-figure]")].map((place) => place.dataset.figure);

  // Shows the response. If it has the same figures, they are updated in place, so that they move instead of blinking,
  // and open tables stay open.
  function redraw(answer) {
    const [now, then] = [figures(document.getElementById("answer")), figures(answer)];
    if (then.length && now.join() === then.join())
      for (const name of now) {
        document.getElementById(name).textContent = answer.getElementById(name).textContent;
        const table = (root) => root.querySelector(`[data-figure="${name}"]`).closest("figure").querySelector("table");
        table(document).replaceWith(table(answer));
      }
    else if (then.length) document.getElementById("answer-charts").replaceWith(answer.getElementById("answer-charts"));
    for (const part of ["answer-facts", "answer-notes"])
      document.getElementById(part).replaceWith(answer.getElementById(part));
    document.dispatchEvent(new Event("mpet:figures"));
  }

  function follow(query) {
    history.replaceState(null, "", `?${query}`);
    for (const link of document.querySelectorAll('link[rel="alternate"], main > .twin a'))
      link.href = `${link.href.split("?")[0]}?${query}`;
  }

  async function ask() {
    moved = true;
    if (asking) return;
    asking = true;
    try {
      while (moved) {
        moved = false;
        const query = state();
        const response = await fetch(`${form.dataset.answer}?${query}`);
        redraw(new DOMParser().parseFromString(await response.text(), "text/html"));
        follow(query);
      }
    } catch {
      const said = Object.assign(document.createElement("p"), {
        textContent: "The server does not respond. Move a slider to try again.",
      });
      document.getElementById("answer-facts").replaceChildren(said);
    } finally {
      asking = false;
    }
  }

  for (const slider of sliders)
    slider.addEventListener("input", () => {
      label(slider);
      ask();
    });
  document.getElementById("reset").addEventListener("click", (event) => {
    event.preventDefault();
    for (const slider of sliders) {
      slider.value = slider.dataset.neutral;
      label(slider);
    }
    ask();
  });
})();
