// Saves a heat map, which the page shows as a table: its numbers, and a picture with the same colours.
(() => {
  "use strict";

  const CELL = { width: 40, height: 24 };
  const PAD = 12;
  const LETTER = 6.4; // approximate width of a letter in px at a font size of 12 px
  const { escaped, variable } = mpet;
  const figure = document.querySelector("[data-heat-map]");
  if (!figure) return;
  const table = figure.querySelector("table");
  const texts = (cells) => [...cells].map((cell) => cell.textContent.trim());

  function numbers() {
    const names = texts(table.querySelectorAll("thead th"));
    const rows = [...table.tBodies[0].rows].map((row) => [
      row.querySelector("th").textContent.trim(),
      ...[...row.querySelectorAll("td")].map((cell) => (cell.dataset.distance ? Number(cell.dataset.distance) : null)),
    ]);
    return [["distance to", ...names], rows];
  }

  // Converts a colour to rgb(), because only browsers can read some forms of computed colours.
  function plain(colour, behind) {
    const brush = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
    for (const fill of [behind, colour]) {
      brush.fillStyle = fill;
      brush.fillRect(0, 0, 1, 1);
    }
    return `rgb(${brush.getImageData(0, 0, 1, 1).data.slice(0, 3).join(",")})`;
  }

  function drawn() {
    const surface = variable("--surface");
    const ink = plain(variable("--ink"), surface);
    const names = texts(table.querySelectorAll("thead th"));
    const margin = PAD + LETTER * Math.max(...names.map((name) => name.length));
    const top = margin + 34;
    const width = margin + CELL.width * names.length + PAD;
    const height = top + CELL.height * names.length + PAD;
    const title = document.querySelector("h1").textContent.trim().replace(/\s+/g, " ");
    const parts = [
      `<rect width="${width}" height="${height}" fill="${plain(surface, surface)}"/>`,
      `<text x="${PAD}" y="22" font-size="15" font-weight="600">${escaped(title)}</text>`,
    ];
    names.forEach((name, index) => {
      const x = margin + CELL.width * (index + 0.5) + 4;
      parts.push(`<text transform="translate(${x},${top - 6}) rotate(-90)">${escaped(name)}</text>`);
    });
    [...table.tBodies[0].rows].forEach((row, index) => {
      const y = top + CELL.height * index;
      parts.push(
        `<text x="${margin - 6}" y="${y + 16}" text-anchor="end">${escaped(row.querySelector("th").textContent.trim())}</text>`,
      );
      [...row.querySelectorAll("td")].forEach((cell, column) => {
        const x = margin + CELL.width * column;
        const fill = plain(getComputedStyle(cell).backgroundColor, surface);
        parts.push(`<rect x="${x}" y="${y}" width="${CELL.width - 1}" height="${CELL.height - 1}" fill="${fill}"/>`);
        parts.push(
          `<text x="${x + CELL.width / 2}" y="${y + 16}" text-anchor="middle">${escaped(cell.textContent.trim())}</text>`,
        );
      });
    });
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12" fill="${ink}">${parts.join("")}</svg>`;
    return { svg, width, height };
  }

  const suffix = figure.dataset.origin ? `-${figure.dataset.origin}` : "";
  mpet.offer(figure, `distances${suffix}`, document.querySelector("h1").textContent.trim(), numbers, drawn);
})();
