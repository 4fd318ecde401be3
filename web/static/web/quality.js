// Show a dot's text while it is pointed at or has the focus.
function show(event) {
  const dot = event.target.closest?.(".map a");
  if (!dot) return;
  const shown = document.querySelector("#map-shown");
  const name = document.createElement("strong");
  name.textContent = dot.dataset.name;
  shown.replaceChildren(name, ` ${dot.dataset.text}`);
}

document.addEventListener("pointerover", show);
document.addEventListener("focusin", show);
