// Saves the small multiples of a page: their numbers, or all of them as one picture.
(() => {
  "use strict";

  const BOX = { width: 146, height: 90 };
  const CELL = { width: 176, height: 142 };
  const COLUMNS = 6;
  const PAD = 14;
  const { escaped, variable } = mpet;
  const figure = document.querySelector("[data-multiples]");
  if (!figure) return;
  const { origin } = figure.dataset;
  const title = `${document.querySelector("h1").firstChild.textContent.trim()}: speedups${origin ? ` (${origin})` : ""}`;

  function numbers() {
    const rows = JSON.parse(document.getElementById("multiples").textContent);
    const columns = ["workload", "threads n (count)", "speedup t(1)/t(n) (ratio)"];
    return origin ? [[...columns, "origin"], rows.map((row) => [...row, origin])] : [columns, rows];
  }

  function one(item, index) {
    const x = PAD + CELL.width * (index % COLUMNS);
    const y = PAD + 34 + CELL.height * Math.floor(index / COLUMNS);
    const path = (name, style) => `<path d="${item.querySelector(name).getAttribute("d")}" fill="none" ${style}/>`;
    return `<g transform="translate(${x},${y})"><text y="10">${escaped(item.querySelector(".title").textContent.trim().slice(0, 26))}</text>
      <rect y="16" width="${BOX.width}" height="${BOX.height}" fill="none" stroke="${variable("--line")}"/>
      <g transform="translate(3,19)">${path(".ideal", `stroke="${variable("--chart-ideal")}" stroke-dasharray="4 3"`)}
      ${path(".measured", `stroke="${variable("--chart-predicted")}" stroke-width="2"`)}</g>
      <text y="122" fill="${variable("--muted")}">${escaped(item.querySelector(".best").textContent)}</text></g>`;
  }

  function drawn() {
    const items = [...figure.querySelectorAll("li")];
    const width = 2 * PAD + CELL.width * Math.min(COLUMNS, items.length);
    const height = 2 * PAD + 34 + CELL.height * Math.ceil(items.length / COLUMNS);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="11" fill="${variable("--ink")}">
      <rect width="${width}" height="${height}" fill="${variable("--surface")}"/>
      <text x="${PAD}" y="26" font-size="15" font-weight="600">${escaped(title)}</text>${items.map(one).join("")}</svg>`;
    return { svg, width, height };
  }

  mpet.offer(figure, "speedups", title, numbers, drawn);
})();
