// The conversation: ask, stream the answer, show why it holds, take feedback.
import {
  asMarkdown, drawDisagreement, drawSources, drawText, drawUnanswered, drawVerdict, make, quotesOf, sourcesOf, UNSURE,
} from "./answer.js";
import { problemOf, streamed } from "./events.js";
import { pickedTags } from "./picker.js";
import { closeSource, onSelection, openSource } from "./source.js";

const form = document.querySelector("#ask-form");
const box = document.querySelector("#question");
const turns = document.querySelector("#turns");
const about = document.querySelector("#about");
const send = document.querySelector("#send");
let sessionId = null;
let selectedText = "";
let count = 0;

function setAbout(text) {
  selectedText = text;
  about.hidden = !text;
  about.querySelector("q").textContent = text;
}

function startTurn(question) {
  count += 1;
  document.querySelector("#start").hidden = true;
  const turn = make("article", { class: "turn" }, make("h2", { class: "question" }, question));
  if (selectedText) turn.append(make("p", { class: "question-about" }, selectedText));
  const text = make("div", { class: "answer is-waiting" });
  turn.append(text);
  turns.append(turn);
  turn.scrollIntoView({ block: "start" });
  return { turn, text, number: count, answer: null, began: performance.now() };
}

async function post(url, body) {
  const headers = { "Content-Type": "application/json" };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(await problemOf(reply));
  return reply.json();
}

// Tags narrow one question; they are not part of a conversation.
async function answerOnce(question, collection) {
  if (selectedText) {
    const body = { question, collection, selected_text: selectedText };
    return post("/ask-selected", sessionId ? { ...body, session_id: sessionId } : body);
  }
  const query = new URLSearchParams({ q: question, collection });
  for (const tag of pickedTags()) query.append("tag", tag);
  const reply = await fetch(`/answer?${query}`);
  if (!reply.ok) throw new Error(await problemOf(reply));
  return reply.json();
}

async function answerStreamed(question, collection, entry) {
  const body = { question, collection, ...(sessionId ? { session_id: sessionId } : {}) };
  for await (const event of streamed("/chat", body)) {
    if (event.type === "chunk") {
      if (!entry.text.textContent) {
        performance.measure("first-token", { start: entry.began, end: performance.now() });
      }
      entry.text.append(event.content);
    }
    if (event.type === "error") throw new Error(event.content);
    if (event.type === "done") return { ...event.answer, session_id: event.session_id };
  }
  throw new Error("The answer broke off. Ask again.");
}

async function ask(question) {
  const collection = form.elements.collection.value;
  const entry = startTurn(question);
  const isOnce = selectedText || pickedTags().length;
  turns.setAttribute("aria-busy", "true");
  send.disabled = true;
  try {
    const answer = isOnce
      ? await answerOnce(question, collection)
      : await answerStreamed(question, collection, entry);
    sessionId = answer.session_id ?? sessionId;
    document.querySelector("#session-line").hidden = !sessionId;
    finish(entry, { ...answer, question }, collection);
    setAbout("");
  } catch (problem) {
    entry.text.replaceWith(make("p", { class: "problem" }, problem.message));
  } finally {
    send.disabled = false;
    turns.setAttribute("aria-busy", "false");
    box.focus({ preventScroll: true });
  }
}

function finish(entry, answer, collection) {
  entry.text.classList.remove("is-waiting");
  entry.answer = answer;
  if (answer.kind === "answer") {
    drawText(entry.text, answer, entry.number);
    const otherwise = answer.disagreement?.length ? [drawDisagreement(answer)] : [];
    entry.turn.append(...drawUnanswered(answer), drawVerdict(answer), drawSources(answer),
      ...otherwise, acts(answer));
  } else {
    entry.text.replaceWith(withheld(answer));
    if (sourcesOf(answer).length) entry.turn.append(drawSources(answer));
    else if (answer.closest?.length !== 0) entry.turn.append(nearest(answer, collection));
    entry.turn.append(acts(answer));
  }
  entry.turn.addEventListener("click", (event) => open(event, answer));
}

function withheld(answer) {
  const words = answer.kind === "unsure" ? UNSURE : answer.notice ?? "Not in your documents.";
  return make("div", { class: "not-found" }, make("p", {}, make("strong", {}, words)));
}

function nearest(answer, collection) {
  const place = make("div", { class: "nearest-place" });
  const query = new URLSearchParams({ q: answer.question, collection });
  for (const tag of pickedTags()) query.append("tag", tag);
  htmx.ajax("GET", `/ui/ask/nearest?${query}`, { target: place, swap: "innerHTML" });
  return place;
}

function open(event, answer) {
  const button = event.target.closest("[data-cite], [data-document]");
  if (!button) return;
  if (button.dataset.document) {
    const { document: documentId, start, end, sha } = button.dataset;
    openSource({ documentId, start, end, sha }, button);
    return;
  }
  const citation = quotesOf(answer)[Number(button.dataset.cite) - 1];
  if (!citation.document_id) return;
  openSource({
    documentId: citation.document_id,
    start: citation.start_char,
    end: citation.end_char,
    sha: citation.content_sha256,
  }, button);
}

function acts(answer) {
  const said = make("span", { class: "said", role: "status" });
  const up = make("button", { type: "button", class: "quiet small", "aria-pressed": "false" }, "Helpful");
  const down = make("button", { type: "button", class: "quiet small", "aria-pressed": "false" }, "Not helpful");
  const copy = make("button", { type: "button", class: "quiet small" }, "Copy as Markdown");
  const line = make("div", { class: "acts" }, up, down, copy, said);
  const rate = async (rating, comment) => {
    up.setAttribute("aria-pressed", String(rating === "up"));
    down.setAttribute("aria-pressed", String(rating === "down"));
    try {
      await post(`/answers/${answer.id}/feedback`, { rating, ...(comment ? { comment } : {}) });
      said.textContent = comment ? "Thank you, noted with the reason." : "Thank you, noted.";
    } catch (problem) {
      said.textContent = problem.message;
    }
  };
  up.addEventListener("click", () => {
    line.querySelector(".reason")?.remove();
    rate("up");
  });
  down.addEventListener("click", () => askReason(line, rate));
  copy.addEventListener("click", async () => {
    said.textContent = (await copied(asMarkdown(answer))) ? "Copied." : "The browser does not allow copying.";
  });
  return line;
}

function askReason(line, rate) {
  rate("down");
  if (line.querySelector(".reason")) return;
  const input = make("input", { "aria-label": "What was wrong", placeholder: "What was wrong? (optional)", maxlength: "2000" });
  const reason = make("form", { class: "reason" }, input, make("button", { class: "small" }, "Send"));
  reason.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) rate("down", input.value.trim());
    reason.remove();
  });
  line.append(reason);
  input.focus();
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

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = box.value.trim();
  if (!question || send.disabled) return;
  box.value = "";
  ask(question);
});
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
document.querySelector("#drop-about").addEventListener("click", () => {
  setAbout("");
  box.focus();
});
document.querySelector("#fresh").addEventListener("click", () => {
  sessionId = null;
  document.querySelector("#session-line").hidden = true;
  closeSource();
  box.focus();
});
onSelection((text) => {
  setAbout(text);
  if (matchMedia("(max-width: 60rem)").matches) closeSource();
  box.focus();
});
