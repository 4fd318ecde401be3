// The panel beside an answer: a document, scrolled to the passage that was cited.
const panel = document.querySelector("#source");
const main = document.querySelector("#main");
const askAbout = document.querySelector("#ask-about");
// On a narrow screen it covers the page, which then is not to be reached.
const isCovering = matchMedia("(max-width: 60rem)");
let opener = null;

function cover() {
  const isCovered = !panel.hidden && isCovering.matches;
  for (const part of document.querySelectorAll(".skip, header.top, #talk")) part.inert = isCovered;
}
isCovering.addEventListener("change", cover);

// Opens the source of a button; unless it is followed from one to the next, the focus goes there.
export async function openSource(from, { isFollowed = false } = {}) {
  const { document: documentId, start, end, sha } = from.dataset;
  const query = new URLSearchParams({ start, end, ...(sha ? { sha } : {}) });
  setOpener(from);
  panel.hidden = false;
  main.classList.add("has-source");
  cover();
  await htmx.ajax("GET", `/ui/documents/${documentId}/passage?${query}`, {
    target: panel, swap: "innerHTML",
  });
  const text = panel.querySelector(".source-text");
  const mark = panel.querySelector("#passage");
  if (!text || !mark || opener !== from) return;
  text.scrollTop += mark.getBoundingClientRect().top - text.getBoundingClientRect().top - text.clientHeight / 3;
  if (!isFollowed) text.focus({ preventScroll: true });
}

export function closeSource() {
  if (panel.hidden) return;
  panel.hidden = true;
  panel.replaceChildren();
  main.classList.remove("has-source");
  cover();
  if (askAbout) askAbout.hidden = true;
  const back = opener;
  setOpener(null);
  back?.focus();
}

export const isSourceOpen = () => !panel.hidden;
export const openedFrom = () => opener;

function setOpener(button) {
  opener?.setAttribute("aria-expanded", "false");
  opener = button;
  opener?.setAttribute("aria-expanded", "true");
}

panel.addEventListener("click", (event) => {
  if (event.target.closest("[data-close]")) closeSource();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeSource();
});

// A selection in the source offers to ask about it.
const MOST_CHARS = 5000;

export function onSelection(take) {
  const selected = () => {
    const selection = document.getSelection();
    const text = panel.querySelector(".source-text");
    const isInside = text && selection.rangeCount && text.contains(selection.anchorNode) && text.contains(selection.focusNode);
    return isInside ? selection.toString().trim().slice(0, MOST_CHARS) : "";
  };
  document.addEventListener("selectionchange", () => {
    const text = selected();
    askAbout.hidden = !text;
    if (!text) return;
    const box = document.getSelection().getRangeAt(0).getBoundingClientRect();
    const top = Math.min(box.bottom + 8, innerHeight - 56);
    askAbout.style.top = `${Math.max(top, 8)}px`;
    askAbout.style.left = `${Math.min(Math.max(box.left, 8), innerWidth - 160)}px`;
  });
  // The press would clear the selection before the click comes.
  askAbout.addEventListener("pointerdown", (event) => event.preventDefault());
  askAbout.addEventListener("click", () => {
    const text = selected();
    if (!text) return;
    document.getSelection().removeAllRanges();
    take(text);
  });
}
