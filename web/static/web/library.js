// Upload: files that are chosen, dropped or pasted, each by a request of its own, three at a time.
import "./picker.js";

const AT_ONCE = 3;
const form = document.querySelector("#upload");
const drop = document.querySelector("#drop");
const chooser = document.querySelector("#file");
const list = document.querySelector("#sending");
const waiting = [];
let sending = 0;

function line(file) {
  const item = document.createElement("li");
  const name = document.createElement("span");
  name.className = "work-name";
  name.textContent = file.name;
  const state = document.createElement("span");
  item.append(name, state);
  list.append(item);
  return { item, state };
}

function say(state, word) {
  state.className = `state state-${word}`;
  state.textContent = word[0].toUpperCase() + word.slice(1);
}

function fail(entry, reason) {
  say(entry.state, "failed");
  const why = document.createElement("span");
  why.className = "work-reason";
  why.textContent = reason;
  const again = document.createElement("button");
  again.type = "button";
  again.className = "quiet small";
  again.textContent = "Retry";
  again.addEventListener("click", () => {
    why.remove();
    again.remove();
    add(entry);
  });
  entry.item.append(why, again);
}

async function reasonOf(reply) {
  if (reply.status === 413) return "The file is too large.";
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  return page.querySelector(".problem")?.textContent ?? `The server returned error ${reply.status}.`;
}

async function send(entry) {
  say(entry.state, "sending");
  const body = new FormData(form);
  body.set("file", entry.file, entry.file.name);
  try {
    const headers = { Accept: "application/json" };
    const reply = await fetch(form.action, { method: "POST", body, headers });
    if (reply.ok) entry.item.remove();
    else fail(entry, await reasonOf(reply));
  } catch {
    fail(entry, "Cannot reach the server. Check the connection, then retry.");
  }
}

async function pump() {
  while (sending < AT_ONCE && waiting.length) {
    sending += 1;
    send(waiting.shift()).finally(() => {
      sending -= 1;
      htmx.trigger("#work", "refresh");
      pump();
    });
  }
}

function add(entry) {
  say(entry.state, "queued");
  waiting.push(entry);
  pump();
}

function addAll(files) {
  for (const file of files) add({ file, ...line(file) });
}

chooser.addEventListener("change", () => {
  addAll(chooser.files);
  chooser.value = "";
});
form.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.classList.add("is-over");
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) drop.classList.remove("is-over");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("is-over");
  addAll(event.dataTransfer.files);
});
document.addEventListener("paste", (event) => {
  if (event.target.closest("input, textarea")) return;
  if (event.clipboardData.files.length) {
    addAll(event.clipboardData.files);
    return;
  }
  const text = event.clipboardData.getData("text/plain");
  if (!text) return;
  document.querySelector("#paste-panel").open = true;
  const box = document.querySelector("#paste-text");
  box.value = text;
  box.focus();
});

// The table: what is selected stays selected and in focus while the list is refreshed.
const picks = () => [...document.querySelectorAll("#documents td.pick input")];

function showPicked() {
  const all = document.querySelector("#pick-all");
  if (!all) return;
  const count = picks().filter((box) => box.checked).length;
  all.disabled = !picks().length;
  all.checked = count > 0 && count === picks().length;
  all.indeterminate = count > 0 && !all.checked;
  document.querySelector(".picked-count").textContent = `${count} selected`;
}

document.addEventListener("change", (event) => {
  if (event.target.id === "pick-all") {
    for (const box of picks()) box.checked = event.target.checked;
  }
  if (event.target.closest(".pick")) showPicked();
});
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target } = event.detail;
  const isPicked = target.id === "documents" && picks().some((box) => box.checked);
  if (isPicked || target.contains(document.activeElement)) event.detail.shouldSwap = false;
});
document.addEventListener("htmx:afterSettle", showPicked);
showPicked();
