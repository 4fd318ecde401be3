// Draw an answer: its sentences with their support, citation chips, sources. Text is only ever text.
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export function nameOf(citation) {
  if (citation.selected) return "Selected text";
  const last = citation.source_uri.replace(/\/+$/, "").split("/").pop();
  try {
    return citation.title || decodeURIComponent(last) || "Document";
  } catch {
    return citation.title || last;
  }
}

export function placeOf(citation) {
  const path = citation.heading_path;
  const parts = [path.slice(path[0] === citation.title ? 1 : 0).join(" › ")];
  if (citation.page) parts.push(`page ${citation.page}`);
  return parts.filter(Boolean).join(" · ");
}

export const UNSURE = "Not sure. These passages come closest:";
// Before each part of the question that the answer says nothing to.
export const UNANSWERED = "Not answered by your documents:";
export const DISAGREEMENT = "Your documents disagree:";

// From where on a confidence is called so; it is calibrated: of answers at .8, four in five are right.
const HIGH = 0.8;
const FAIR = 0.5;

export function wordFor(confidence) {
  if (confidence >= HIGH) return "high";
  return confidence >= FAIR ? "fair" : "low";
}

// The extract is the documents' own words; what a language model wrote was checked against them.
const isWritten = (answer) => answer.answerer !== "extractive";

// What an answer goes back to; one read again from a broken stream has no closest passages.
export function sourcesOf(answer) {
  return answer.kind === "unsure" ? answer.closest ?? [] : answer.citations;
}

// What can be opened, by number: behind the sources come the passages that say otherwise.
export function quotesOf(answer) {
  return [...sourcesOf(answer), ...(answer.disagreement ?? [])];
}

function chip(citation, number, turn, isChecked) {
  const id = `tip-${turn}-${number}`;
  const button = make("button", {
    type: "button", class: "chip", "aria-describedby": id, "aria-expanded": "false",
    "data-cite": number, "aria-label": `Source ${number}, ${nameOf(citation)}`,
  }, String(number));
  const where = [nameOf(citation), placeOf(citation)].filter(Boolean).join(" · ");
  const support = citation.support === "partial" ? "partly supported" : "supported";
  const tip = make("span", { class: "tip", role: "tooltip", id }, make("q", {}, citation.quote),
    make("span", { class: "place" }, isChecked ? `${where} · ${support}` : where));
  const wrap = make("span", { class: "chip-wrap" }, button, tip);
  const place = () => {
    const box = wrap.getBoundingClientRect();
    tip.classList.toggle("is-left", box.left > innerWidth / 2);
    tip.classList.toggle("is-below", box.top < 320);
  };
  wrap.addEventListener("pointerenter", place);
  button.addEventListener("focus", place);
  return wrap;
}

// The cited spans of an answer, in order, each with its citations; what overlaps is one span.
function cited(citations) {
  const spans = [];
  const sorted = citations.map((citation, index) => ({ citation, number: index + 1 }));
  sorted.sort((a, b) => a.citation.answer_start - b.citation.answer_start);
  for (const one of sorted) {
    const last = spans.at(-1);
    if (last && one.citation.answer_start < last.end) {
      last.end = Math.max(last.end, one.citation.answer_end);
      last.of.push(one);
    } else {
      spans.push({ start: one.citation.answer_start, end: one.citation.answer_end, of: [one] });
    }
  }
  return spans;
}

// A cited span; the few words that answer, where it has them, are bold.
function sentence(span, slice, answer) {
  const isPartial = span.of.every(({ citation }) => citation.support === "partial");
  const support = isPartial ? "is-partial" : "is-supported";
  const node = make("span", { class: isWritten(answer) ? `sentence ${support}` : "sentence" });
  const { short_start: start, short_end: end } = answer;
  if (Number.isInteger(start) && span.start <= start && end <= span.end) {
    node.append(slice(span.start, start), make("strong", {}, slice(start, end)), slice(end, span.end));
  } else {
    node.append(slice(span.start, span.end));
  }
  return node;
}

export function drawText(box, answer, turn) {
  // Offsets count characters as the server does, not UTF-16 units.
  const letters = [...answer.answer];
  const slice = (start, end) => letters.slice(start, end).join("");
  box.replaceChildren();
  let place = 0;
  for (const span of cited(answer.citations)) {
    box.append(slice(place, span.start), sentence(span, slice, answer));
    for (const { citation, number } of span.of) {
      box.append(chip(citation, number, turn, isWritten(answer)));
    }
    place = span.end;
  }
  box.append(slice(place));
}

export function drawVerdict(answer) {
  const word = wordFor(answer.confidence);
  const badge = make("span", { class: `confidence is-${word}` },
    `${word[0].toUpperCase()}${word.slice(1)} confidence ${answer.confidence.toFixed(2)}`);
  const line = make("p", { class: "verdict" }, badge);
  if (!isWritten(answer)) return line;
  const legend = make("span", { class: "legend" },
    make("span", { class: "sentence is-supported" }, "supported"));
  if (answer.citations.some((citation) => citation.support === "partial")) {
    legend.append(" · ", make("span", { class: "sentence is-partial" }, "partly supported"));
  }
  line.append(legend);
  return line;
}

export function drawUnanswered(answer) {
  return (answer.unanswered ?? []).map((part) => make("p", { class: "unanswered" },
    make("strong", {}, UNANSWERED), ` ${part}`));
}

export function drawSources(answer) {
  const label = answer.kind === "unsure" ? "Closest passages" : "Sources";
  return cards(sourcesOf(answer), label, 1);
}

export function drawDisagreement(answer) {
  const first = answer.citations.length + 1;
  return make("div", { class: "disagreement" }, make("p", {}, make("strong", {}, DISAGREEMENT)),
    cards(answer.disagreement, "What other documents say", first));
}

function cards(quoted, label, first) {
  const list = make("ol", { class: "sources", "aria-label": label });
  quoted.forEach((citation, index) => {
    const number = first + index;
    const link = make("button", {
      type: "button", class: "source-link", "data-cite": number, "aria-expanded": "false",
    });
    link.append(
      make("span", { class: "rank" }, `${number}  `),
      make("span", { class: "source-name" }, nameOf(citation)), " ",
      make("span", { class: "place" }, placeOf(citation)),
      make("span", { class: "excerpt" }, citation.quote),
    );
    list.append(make("li", {}, link));
  });
  return list;
}

export function asMarkdown(answer) {
  const letters = [...answer.answer];
  let text = "";
  let place = 0;
  for (const span of cited(answer.citations)) {
    const notes = span.of.map(({ number }) => `[^${number}]`).join("");
    text += letters.slice(place, span.end).join("") + notes;
    place = span.end;
  }
  text += letters.slice(place).join("");
  const isUnsure = answer.kind === "unsure";
  if (isUnsure) text = UNSURE;
  const note = (citation, mark) => {
    const where = [nameOf(citation), placeOf(citation), citation.source_uri].filter(Boolean);
    return `${mark} ${where.join(", ")}: "${citation.quote.replaceAll(/\s+/g, " ")}"`;
  };
  const notes = sourcesOf(answer).map(
    (citation, index) => note(citation, isUnsure ? "-" : `[^${index + 1}]:`));
  const others = (answer.disagreement ?? []).map((citation) => note(citation, "-"));
  if (others.length) others.unshift(`${DISAGREEMENT}\n`);
  const missing = (answer.unanswered ?? []).map((part) => `${UNANSWERED} ${part}`).join("\n\n");
  return [`**${answer.question}**`, text, missing, others.join("\n"), notes.join("\n")]
    .filter(Boolean).join("\n\n") + "\n";
}
