// Shows the settings of the chosen method only. Without scripts all of them are there, and the others are ignored.
(() => {
  "use strict";
  const method = document.getElementById("id_method");
  const show = () =>
    document.querySelectorAll("fieldset[data-method]").forEach((part) => {
      part.hidden = part.dataset.method !== method.value;
    });
  method?.addEventListener("change", show);
  if (method) show();
})();
