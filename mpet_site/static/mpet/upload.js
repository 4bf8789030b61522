// The upload form with drag and drop, and progress of sending and of processing. Without scripts the form works as it is.
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
  const button = form.querySelector("button.primary");
  const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 20 ? 2 : 1)} MiB`;

  function show() {
    const [one] = file.files;
    chosen.hidden = !one;
    if (one) chosen.textContent = `${one.name}, ${megabytes(one.size)}`;
    failure.hidden = true;
  }

  function fail(reasons) {
    failure.replaceChildren(
      ...reasons.map((reason) => Object.assign(document.createElement("p"), { textContent: reason })),
    );
    failure.hidden = false;
    sending.hidden = true;
    button.disabled = false;
  }

  function sent(event) {
    progress.value = event.loaded / event.total;
    status.textContent = `Sending: ${megabytes(event.loaded)} of ${megabytes(event.total)}`;
  }

  function waiting() {
    progress.removeAttribute("value");
    status.textContent = "Sent. Checking the file and fitting its curves…";
  }

  function answered(request) {
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      answer = { detail: `The server answered with an error (${request.status}). Nothing was stored; try again.` };
    }
    if (request.status === 201 || request.status === 202)
      window.location.assign(form.dataset.report.replace(/0{8}-.*-0{12}/, answer.id));
    else if (request.status === 401 || request.status === 403)
      fail(["You are not signed in any more. Reload this page and sign in."]);
    else fail(answer.errors?.map((error) => error.reason) ?? [answer.detail]);
  }

  function send(event) {
    const [one] = file.files;
    event.preventDefault();
    if (one.size > Number(form.dataset.limit))
      return fail([`The file has ${megabytes(one.size)}; at most ${megabytes(form.dataset.limit)} are taken.`]);
    const content = new FormData(form);
    const request = new XMLHttpRequest();
    content.delete("csrfmiddlewaretoken");
    request.open("POST", form.dataset.api);
    request.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", sent);
    request.upload.addEventListener("load", waiting);
    request.addEventListener("load", () => answered(request));
    request.addEventListener("error", () => fail(["The connection broke. Nothing was stored; try again."]));
    failure.hidden = true;
    sending.hidden = false;
    button.disabled = true;
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
