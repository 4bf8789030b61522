// Polls the state of an upload as JSON until it has been processed, then reloads the page to show its report. Without
// scripts there is a link "Look again".
(() => {
  "use strict";
  const waiting = document.getElementById("waiting");
  const status = document.getElementById("waiting-status");
  const began = Date.now();
  let pause_ms = 500;

  async function look() {
    try {
      const answer = await fetch(waiting.dataset.twin, { headers: { Accept: "application/json" } });
      const { status: now } = await answer.json();
      if (answer.ok && now !== "received" && now !== "processing") return window.location.reload();
      status.textContent = `${now === "received" ? "Queued" : "Checking"}: ${Math.round((Date.now() - began) / 1000)} s`;
    } catch {
      status.textContent = "The server does not respond; trying again.";
    }
    pause_ms = Math.min(1.3 * pause_ms, 5000);
    setTimeout(look, pause_ms);
  }

  document.getElementById("waiting-progress").hidden = false;
  setTimeout(look, pause_ms);
})();
