// What one does with answers that are shown: open their sources, rate them, copy them.
import { csrf, make } from "./make.js";
import { problemOf } from "./events.js";
import { isSourceOpen, openedFrom, openSource } from "./source.js";

const turns = document.querySelector("#turns");

turns.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.document) openSource(button);
  if (button.dataset.rate) rate(button);
  if (button.dataset.copy) copy(button);
  if ("stand" in button.dataset) keepAsking(button);
  if ("answers" in button.dataset) mark(button);
});

// The quote of a number in the text stays within the window.
function place(event) {
  const wrap = event.target.closest?.(".chip-wrap");
  if (!wrap) return;
  const box = wrap.getBoundingClientRect();
  const tip = wrap.querySelector(".tip");
  tip.classList.toggle("is-left", box.left > innerWidth / 2);
  tip.classList.toggle("is-below", box.top < 320);
}
turns.addEventListener("pointerover", place);
turns.addEventListener("focusin", place);

function sayIn(turn, text) {
  turn.querySelector(".acts .said").textContent = text;
}

async function post(url, body) {
  const headers = { ...csrf, "Content-Type": "application/json" };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(await problemOf(reply));
  return reply.json();
}

async function keepAsking(button) {
  const turn = button.closest(".turn");
  try {
    await post("/standing-questions", { answer_id: turn.dataset.answer });
    button.remove();
    sayIn(turn, "pkb asks this again when documents change. See Chats, Standing questions.");
  } catch (problem) {
    sayIn(turn, problem.message);
  }
}

// One after the other: a reason would be lost to the rating that it belongs to.
let lastSent = Promise.resolve();

function send(turn, rating, comment) {
  lastSent = lastSent.then(() => sendNow(turn, rating, comment));
}

async function sendNow(turn, rating, comment) {
  for (const button of turn.querySelectorAll("[data-rate]")) {
    button.setAttribute("aria-pressed", String(button.dataset.rate === rating));
  }
  try {
    await post(`/answers/${turn.dataset.answer}/feedback`, { rating, ...(comment ? { comment } : {}) });
    sayIn(turn, comment ? "Thank you. Your comment is saved." : "Thank you for your feedback.");
  } catch (problem) {
    sayIn(turn, problem.message);
  }
}

function rate(button) {
  const turn = button.closest(".turn");
  send(turn, button.dataset.rate);
  turn.querySelector(".reason")?.remove();
  if (button.dataset.rate === "up") return;
  const input = make("input", { "aria-label": "What was wrong", placeholder: "What was wrong? (optional)", maxlength: "2000" });
  const reason = make("form", { class: "reason" }, input, make("button", { class: "small" }, "Send"));
  reason.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) send(turn, "down", input.value.trim());
    reason.remove();
  });
  turn.querySelector(".acts").append(reason);
  input.focus();
}

// A passage answers: noted, and not to be said twice.
async function mark(button) {
  const { documentId, startChar, endChar } = button.dataset;
  const passage = { document_id: documentId, start_char: Number(startChar), end_char: Number(endChar) };
  const said = button.parentElement.querySelector(".said");
  if (button.getAttribute("aria-pressed") === "true") return;
  button.setAttribute("aria-pressed", "true");
  try {
    await post(`/answers/${button.closest(".turn").dataset.answer}/feedback`, { rating: "up", passage });
    said.textContent = "Thank you for your feedback.";
  } catch (problem) {
    button.setAttribute("aria-pressed", "false");
    said.textContent = problem.message;
  }
}

async function copy(button) {
  const turn = button.closest(".turn");
  const reply = await fetch(button.dataset.copy);
  if (!reply.ok) return sayIn(turn, await problemOf(reply));
  const isCopied = await copied(await reply.text());
  return sayIn(turn, isCopied ? "Copied." : "Your browser does not allow copying.");
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text);
  }
}

// Served over plain HTTP from another machine there is no clipboard API.
function copiedBySelection(text) {
  const area = make("textarea", { class: "hidden", readonly: "" });
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  return isDone;
}

// The keyboard: "/" to the question, arrows from source to source, Escape closes (source.js).
const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key === "/") {
    const question = document.querySelector("#question");
    if (!question) return;
    event.preventDefault();
    question.focus();
  }
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step && goOn(event.target, step)) event.preventDefault();
});

// To the next number of the same answer; an open source follows.
function goOn(target, step) {
  const from = target.closest?.("[data-cite]") ?? (isSourceOpen() ? openedFrom() : null);
  const turn = from?.closest(".turn") ?? turns.querySelector(".turn:last-of-type");
  if (!turn) return false;
  const all = [...turn.querySelectorAll("button[data-cite]")].filter((button) => !button.closest(".more:not([open])"));
  const next = from ? all[all.indexOf(from) + step] : all.at(step > 0 ? 0 : -1);
  if (!next) return false;
  next.closest(".card")?.setAttribute("open", "");
  next.focus();
  if (isSourceOpen()) openSource(next, { isFollowed: true });
  return true;
}
