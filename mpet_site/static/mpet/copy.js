// Buttons that copy the text of an element. They are hidden if there are no scripts or no clipboard.
(() => {
  "use strict";
  if (!navigator.clipboard) return;
  document.querySelectorAll("button[data-copy]").forEach((button) => {
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = label), 1500);
    });
  });
})();
