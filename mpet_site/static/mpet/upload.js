// Adds drag and drop, a preview and a progress bar to the upload form. The form also works without scripts.
(() => {
  "use strict";
  const form = document.getElementById("upload");
  const [drop, file, chosen, sending, progress, status, failure] = [
    "drop",
    "id_file",
    "chosen",
    "sending",
    "progress",
    "status",
    "failure",
  ].map((id) => document.getElementById(id));
  const buttons = form.querySelectorAll("button[type=submit]");
  const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 20 ? 2 : 1)} MiB`;
  const total = () => [...file.files].reduce((bytes, one) => bytes + one.size, 0);
  const enable = (enabled) => {
    for (const button of buttons) button.disabled = !enabled;
  };

  function forget() {
    failure.hidden = true;
    document.getElementById("understood").hidden = true;
  }

  function show() {
    const [one] = file.files;
    chosen.hidden = !one;
    if (one) {
      const more = file.files.length > 1 ? ` and ${file.files.length - 1} more` : "";
      chosen.textContent = `${one.name}${more}, ${megabytes(total())}`;
    }
    document.getElementById("understood").replaceChildren(); // belongs to the previous file
    forget();
  }

  function fail(reasons) {
    failure.replaceChildren(
      ...reasons.map((reason) => Object.assign(document.createElement("p"), { textContent: reason })),
    );
    failure.hidden = !reasons.length;
    sending.hidden = true;
    enable(true);
    if (reasons.length) failure.focus();
  }

  function sent(event) {
    progress.value = event.loaded / event.total;
    status.textContent = `Sending: ${megabytes(event.loaded)} of ${megabytes(event.total)}`;
  }

  function waiting() {
    progress.removeAttribute("value");
    status.textContent = "Sent. Checking the file and fitting its curves…";
  }

  // Handles the response, which is the same as without scripts: a redirect to the report, or the form with errors or
  // findings.
  function answered(request) {
    const address = new URL(request.responseURL || window.location.href);
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    const understood = page.getElementById("understood");
    if (address.pathname === form.dataset.login)
      return fail(["You are not signed in any more. Reload this page and sign in."]);
    if (address.pathname !== window.location.pathname) return window.location.assign(address);
    if (!understood)
      return fail([`The server answered with an error (${request.status}). Nothing was stored; try again.`]);
    fail([...page.querySelectorAll("#upload .errorlist li")].map((item) => item.textContent));
    document.getElementById("of-other-tools").open ||= page.getElementById("of-other-tools").open;
    document.getElementById("understood").replaceWith(understood);
    if (!understood.hidden) understood.focus();
  }

  function send(event) {
    event.preventDefault();
    if (total() > Number(form.dataset.limit))
      return fail([`The file has ${megabytes(total())}; at most ${megabytes(form.dataset.limit)} are accepted.`]);
    const content = new FormData(form, event.submitter);
    const request = new XMLHttpRequest();
    request.open("POST", window.location.pathname);
    request.upload.addEventListener("progress", sent);
    request.upload.addEventListener("load", waiting);
    request.addEventListener("load", () => answered(request));
    request.addEventListener("error", () => fail(["The connection broke. Nothing was stored; try again."]));
    forget();
    sending.hidden = false;
    enable(false);
    request.send(content);
  }

  for (const name of ["dragenter", "dragover"])
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) file.files = event.dataTransfer.files;
    show();
  });
  file.addEventListener("change", show);
  form.addEventListener("submit", send);
  drop.classList.add("ready");
})();
