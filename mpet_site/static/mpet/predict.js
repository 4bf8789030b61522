// Shows the settings of the chosen method only, and keeps the address in step with the form, so that it can be passed
// on. Without scripts all settings are there, and those of other methods are ignored.
(() => {
  "use strict";
  const fields = ["workload", "target", "method"].map((name) => document.getElementById(`id_${name}`));
  const method = fields[2];

  function show() {
    document.querySelectorAll("fieldset[data-method]").forEach((part) => {
      part.hidden = part.dataset.method !== method.value;
    });
  }

  function keep() {
    const filled = fields.filter((field) => field.value).map((field) => [field.name, field.value]);
    history.replaceState(null, "", `?${new URLSearchParams(filled)}`);
  }

  method.addEventListener("change", show);
  fields.forEach((field) => field.addEventListener("change", keep));
  show();
})();
