// Saves charts and heat maps as files: numbers as CSV or JSON, pictures as SVG or PNG.
window.mpet = (() => {
  "use strict";

  function save(content, name) {
    const link = document.createElement("a");
    link.download = `${document.title.split(" · ")[0]} ${name}`.replace(/[^\p{L}\p{N}.]+/gu, "-");
    link.href = content instanceof Blob ? URL.createObjectURL(content) : content;
    link.click();
    if (content instanceof Blob) setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function csv(columns, rows) {
    // Prevents spreadsheets from interpreting a text as a formula.
    const safe = (value) => (typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : (value ?? ""));
    const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const lines = [columns, ...rows].map((line) => line.map((value) => quoted(String(safe(value)))).join(","));
    return new Blob([`${lines.join("\r\n")}\r\n`], { type: "text/csv" });
  }

  // Returns {title, origin (null: measured), columns, rows} as a file.
  function json(title, origin, columns, rows) {
    const content = { title, origin: origin ?? null, columns, rows };
    return new Blob([`${JSON.stringify(content, null, 1)}\n`], { type: "application/json" });
  }

  async function png(svg, width, height) {
    const drawn = new Image();
    drawn.src = svg;
    await drawn.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(drawn, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  // Connects the buttons of a figure that is not drawn by Plotly. numbers() returns columns and rows, drawn() an SVG
  // with its width and height.
  function offer(figure, name, title, numbers, drawn) {
    async function content(format) {
      if (format === "csv") return csv(...numbers());
      if (format === "json") return json(title, figure.dataset.origin, ...numbers());
      const { svg, width, height } = drawn();
      const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
      return format === "svg" ? address : png(address, width, height);
    }

    figure.querySelector(".chart-actions").hidden = false;
    figure.addEventListener("click", async ({ target }) => {
      const format = target.dataset?.save;
      if (format) save(await content(format), `${name}.${format}`);
    });
  }

  const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  return { save, csv, json, png, offer, escaped, variable };
})();
