// Shows only the fields that the chosen method and scenario use, and updates the address with the form, so that it can
// be shared. Without scripts all fields are shown, and unused ones are ignored.
(() => {
  "use strict";
  const form = document.getElementById("id_workload").form;
  const named = ["workload", "target", "method", "scenario", "strategy"];
  const value = (name) => form.elements[name].value;

  function show() {
    form.querySelectorAll("fieldset[data-method]").forEach((part) => {
      part.hidden = part.dataset.method !== value("method");
    });
    document.getElementById("strategy").hidden = value("scenario") !== "parallelisation";
  }

  function keep() {
    const isDefault = (name) => name === "scenario" && value(name) === "migration";
    const counts = (name) =>
      value(name) && !isDefault(name) && (name !== "strategy" || value("scenario") === "parallelisation");
    history.replaceState(null, "", `?${new URLSearchParams(named.filter(counts).map((name) => [name, value(name)]))}`);
    const pair = ["workload", "target", "method"].filter(value).map((name) => [name, value(name)]);
    document.getElementById("to-what-if").search = new URLSearchParams(pair);
  }

  form.addEventListener("change", ({ target }) => {
    show();
    if (named.includes(target.name)) keep();
  });
  show();
})();
