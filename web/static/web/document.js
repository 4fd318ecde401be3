// Bring what was asked for into view inside the scrolling text.
function show(target) {
  if (!target) return;
  const box = document.querySelector("#text");
  const offset = target.getBoundingClientRect().top - box.getBoundingClientRect().top;
  box.scrollTop += offset - box.clientHeight / 3;
}

function showTarget() {
  const id = location.hash.slice(1);
  show(document.getElementById(id) ?? document.querySelector("#passage"));
}

if (document.querySelector("#text")) {
  showTarget();
  window.addEventListener("hashchange", showTarget);
}
