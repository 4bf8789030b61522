// Draws the figures of a page, which includes them as JSON, and redraws them when light or dark mode is switched.
// The colours are defined in site.css: meta.colour of a trace names a variable there ("measured" -> --chart-measured).
(() => {
  "use strict";

  const { variable } = mpet;
  const config = { responsive: true, displayModeBar: false, scrollZoom: false };

  const axis = () => ({
    gridcolor: variable("--chart-grid"),
    linecolor: variable("--chart-mark"),
    zerolinecolor: variable("--chart-grid"),
    tickcolor: variable("--chart-mark"),
    automargin: true,
    fixedrange: true,
  });

  function paint(trace) {
    const colour = variable(`--chart-${trace.meta?.colour ?? "series-0"}`);
    trace.line = { ...trace.line, color: colour };
    trace.marker = { ...trace.marker, color: colour };
    if (trace.stackgroup) trace.fillcolor = `${colour}d8`;
    else if (trace.fill) trace.fillcolor = `${colour}2e`;
    return trace;
  }

  // Below this width in px, names at the ends of lines would take half of the drawing.
  const NARROW = 480;

  function legendInstead(data, layout) {
    layout.annotations = layout.annotations?.filter((note) => !note.name);
    for (const trace of data) if (trace.meta?.named) trace.showlegend = true;
    for (const trace of data) trace.mode = trace.mode?.replace("+text", "");
    layout.showlegend ||= data.some((trace) => trace.meta?.named);
    layout.margin = { ...layout.margin, r: 16, b: layout.showlegend ? 12 : layout.margin.b };
  }

  function themed(place) {
    const { data, layout } = figureOf(place);
    if (place.clientWidth < NARROW) legendInstead(data, layout);
    if (place.dataset.allLines) for (const trace of data) if (trace.visible === false) trace.visible = true;
    const ink = variable("--ink");
    const muted = variable("--muted");
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key)))
      layout[name] = { ...layout[name], ...axis() };
    for (const shape of layout.shapes ?? []) shape.line = { ...shape.line, color: variable("--chart-mark") };
    for (const note of layout.annotations ?? [])
      note.font = { size: 11, color: note.name ? variable(`--chart-${note.name}`) : muted };
    return {
      data: data.map(paint),
      layout: {
        ...layout,
        dragmode: false,
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        font: { family: variable("--text"), size: 12, color: ink },
        hoverlabel: {
          bgcolor: variable("--surface"),
          bordercolor: variable("--line"),
          font: { color: ink },
          namelength: -1,
        },
      },
    };
  }

  const figureOf = (place) => JSON.parse(document.getElementById(place.dataset.figure).textContent);

  function draw(place) {
    const { data, layout } = themed(place);
    delete layout.title; // the page has it as a heading
    window.Plotly.react(place, data, layout, config);
    place.removeAllListeners?.("plotly_click");
    place.on("plotly_click", ({ points }) => {
      const address = points[0].data.meta?.addresses?.[points[0].pointIndex];
      if (address?.startsWith("/")) window.location.assign(address);
    });
  }

  // The texts of a figure are escaped for Plotly (profiles.figures.base). Unescape them for files.
  const SIGNS = { "&amp;": "&", "&lt;": "<", "&gt;": ">" };
  const plain = (value) =>
    typeof value === "string" ? value.replace(/&(?:amp|lt|gt);/g, (sign) => SIGNS[sign]) : value;

  // Returns columns and rows: every point in full precision, and its origin if it was not measured. The columns have
  // the titles of the axes.
  function points({ data, layout }, origin) {
    const rows = data.flatMap(({ name, x, y, text }) =>
      x
        .map((at, index) => [Array.isArray(text) ? text[index] : name, at, y[index]])
        .filter(([, at, value]) => at !== null && value !== null),
    );
    const columns = ["series", layout.xaxis.title.text, layout.yaxis.title.text].map(plain);
    const plainRows = rows.map((row) => row.map(plain));
    return origin ? [[...columns, "origin"], plainRows.map((row) => [...row, origin])] : [columns, plainRows];
  }

  async function picture(place, format) {
    const { width, height } = place.getBoundingClientRect();
    const figure = themed(place);
    Object.assign(figure.layout, { paper_bgcolor: variable("--surface"), width, height });
    figure.layout.title = { ...figure.layout.title, x: 0.02, font: { size: 15 } };
    figure.layout.margin = { ...figure.layout.margin, t: 56 };
    const svg = await window.Plotly.toImage(figure, { format: "svg", width, height });
    return format === "svg" ? svg : mpet.png(svg, width, height);
  }

  async function content(place, format) {
    const title = place.closest("figure").querySelector("h3").textContent;
    const origin = place.dataset.origin;
    if (format === "csv") return mpet.csv(...points(figureOf(place), origin));
    if (format === "json") return mpet.json(title, origin, ...points(figureOf(place), origin));
    return picture(place, format);
  }

  document.addEventListener("click", ({ target }) => {
    if (!target.matches?.("[data-show-lines]")) return;
    const place = target.closest("figure").querySelector("[data-figure]");
    place.dataset.allLines = "1";
    target.hidden = true;
    draw(place);
  });

  document.addEventListener("click", async ({ target }) => {
    const format = target.dataset?.save;
    const place = format && target.closest("figure")?.querySelector("[data-figure]");
    if (place) mpet.save(await content(place, format), `${place.dataset.figure}.${format}`);
  });

  // Draws all visible figures. A figure in a closed tab has no size, and is drawn when the tab opens.
  function drawAll() {
    for (const place of document.querySelectorAll("[data-figure]")) {
      if (!place.getClientRects().length) continue;
      draw(place);
      place.closest("figure").querySelector(".chart-actions").hidden = false;
    }
  }
  drawAll();
  document.addEventListener("htmx:afterSettle", drawAll);
  document.addEventListener("mpet:figures", drawAll);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
