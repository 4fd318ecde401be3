// The conversation: ask, say what happens, stream the answer, keep it under an address of its own.
import { make } from "./make.js";
import { streamed } from "./events.js";
import { pickedTags } from "./picker.js";
import { closeSource, isSourceOpen, onSelection, openSource } from "./source.js";
import "./turns.js";

const form = document.querySelector("#ask-form");
const box = document.querySelector("#question");
const turns = document.querySelector("#turns");
const talk = document.querySelector("#talk");
const about = document.querySelector("#about");
const send = document.querySelector("#send");
const stop = document.querySelector("#stop");
const scope = document.querySelector("#scope-toggle");
const isWide = matchMedia("(min-width: 60.01rem)");
// The one document to ask, if it is only one.
const { document: only } = form.elements;
let selectedText = "";
let running = null;

function setAbout(text) {
  selectedText = text;
  about.hidden = !text;
  about.querySelector("q").textContent = text;
}

// What is done at each step of an answer.
function wordsFor(step) {
  const chosen = form.elements.collection.selectedOptions[0];
  const [, count] = only ? [null, "1"] : (/\((\d+)\)$/.exec(chosen.textContent.trim()) ?? []);
  return {
    start: "Reading the question …",
    retrieve: `Searching ${count === "1" ? "1 document" : `${count} documents`} …`,
    rerank: "Ranking passages …",
    answer: "Writing the answer …",
    cite: "Checking quotes …",
  }[step];
}

function startTurn(question) {
  const start = document.querySelector("#start");
  if (start) start.hidden = true;
  talk.classList.add("is-talking");
  setScope(false);
  const turn = make("article", { class: "turn" }, make("h2", { class: "question" }, question));
  if (selectedText) turn.append(make("p", { class: "question-about" }, selectedText));
  const text = make("div", { class: "answer is-waiting" });
  const step = make("p", { class: "step", role: "status" }, wordsFor("start"));
  turn.append(text, step);
  turns.append(turn);
  turn.scrollIntoView({ block: "start" });
  return { turn, text, step };
}

// Markdown as it is read, until the server has drawn it.
function withoutMarks(text) {
  return text.replace(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1").replace(/\*\*|`/g, "").replace(/^#+ /gm, "");
}

async function answer(question, entry, signal) {
  const body = {
    question, collection: form.elements.collection.value, tags: pickedTags(),
    selected_text: selectedText, keep: true, steps: true,
    ...(only ? { document_id: only.value } : {}),
    ...(turns.dataset.chat ? { session_id: turns.dataset.chat } : {}),
  };
  let said = "";
  for await (const event of streamed("/chat", body, signal)) {
    if (event.type === "step") entry.step.textContent = wordsFor(event.content) ?? "";
    if (event.type === "chunk") {
      said += event.content;
      entry.text.textContent = withoutMarks(said);
    }
    if (event.type === "error") throw new Error(event.content);
    if (event.type === "done") return event;
  }
  throw new Error("The answer was interrupted. Ask again.");
}

async function ask(question) {
  const wasOpen = isSourceOpen();
  closeSource();
  const entry = startTurn(question);
  setRunning(new AbortController());
  try {
    const done = await answer(question, entry, running.signal);
    setAbout("");
    await settle(entry, done);
    if (wasOpen && isWide.matches) openFirst(done.answer_id);
  } catch (problem) {
    end(entry, problem);
  } finally {
    setRunning(null);
    box.focus({ preventScroll: true });
  }
}

// The answer as the server keeps and draws it, and the address where it can be found again.
async function settle(entry, done) {
  await htmx.ajax("GET", `/ui/answers/${done.answer_id}/turn`, { target: entry.turn, swap: "outerHTML" });
  turns.lastElementChild.scrollIntoView({ block: "start" });
  if (turns.dataset.chat === done.session_id) return;
  turns.dataset.chat = done.session_id;
  history.replaceState(null, "", `/ui/chats/${done.session_id}`);
  box.placeholder = "Ask a follow-up";
  htmx.ajax("GET", `/ui/chats/${done.session_id}/head`, { target: "#chat-head", swap: "innerHTML" });
}

function end(entry, problem) {
  const isStopped = problem.name === "AbortError";
  entry.text.classList.remove("is-waiting");
  entry.step.replaceWith(make("p", { class: isStopped ? "step" : "problem" },
    isStopped ? "Stopped." : problem.message));
}

function openFirst(answerId) {
  const first = turns.querySelector(`[data-answer="${answerId}"] [data-document]`);
  if (first && !first.closest(".more")) openSource(first, { isFollowed: true });
}

function setRunning(controller) {
  running = controller;
  turns.setAttribute("aria-busy", String(Boolean(controller)));
  send.hidden = Boolean(controller);
  stop.hidden = !controller;
}

// One line while talking; where to look is a press away.
function setScope(isShown) {
  talk.classList.toggle("shows-scope", isShown);
  scope.setAttribute("aria-expanded", String(isShown));
  showScope();
}

function showScope() {
  const tags = pickedTags();
  const { name } = (only ?? form.elements.collection.selectedOptions[0]).dataset;
  document.querySelector("#scope-shown").textContent = tags.length ? `${name}: ${tags.join(", ")}` : name;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = box.value.trim();
  if (!question || running) return;
  box.value = "";
  ask(question);
});
form.addEventListener("change", showScope);
scope.addEventListener("click", () => setScope(!talk.classList.contains("shows-scope")));
stop.addEventListener("click", () => running?.abort());
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
document.querySelector("#start")?.addEventListener("click", (event) => {
  const question = event.target.closest("[data-ask]")?.dataset.ask;
  if (question && !running) ask(question);
});
document.querySelector("#drop-about").addEventListener("click", () => {
  setAbout("");
  box.focus();
});
onSelection((text) => {
  setAbout(text);
  if (!isWide.matches) closeSource();
  box.focus();
});
turns.lastElementChild?.scrollIntoView({ block: "start" });
