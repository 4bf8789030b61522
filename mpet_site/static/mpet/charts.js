// Draws each figure that the page carries as JSON, in the colours of site.css, and again when light and dark change.
// A trace names its colour in meta.colour ("measured" -> --chart-measured); the server knows no colours.
(() => {
  "use strict";

  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
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

  function themed(figure) {
    const { data, layout } = structuredClone(figure);
    const ink = variable("--ink");
    const muted = variable("--muted");
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key)))
      layout[name] = { ...layout[name], ...axis() };
    for (const shape of layout.shapes ?? []) shape.line = { ...shape.line, color: variable("--chart-mark") };
    for (const note of layout.annotations ?? []) note.font = { size: 11, color: muted };
    return {
      data: data.map(paint),
      layout: {
        ...layout,
        dragmode: false,
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        font: { family: variable("--text"), size: 12, color: ink },
        hoverlabel: { bgcolor: variable("--surface"), bordercolor: variable("--line"), font: { color: ink }, namelength: -1 },
      },
    };
  }

  function draw(place) {
    const { data, layout } = themed(JSON.parse(document.getElementById(place.dataset.figure).textContent));
    return window.Plotly.react(place, data, layout, config);
  }

  const drawAll = () => document.querySelectorAll("[data-figure]").forEach(draw);
  drawAll();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
