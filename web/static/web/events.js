// Read server-sent events from the reply to a POST; what breaks off is taken up again where it ended.
import { csrf } from "./make.js";

const TRIES = 3;

async function* blocks(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = parts.pop();
    yield* parts;
  }
}

function parse(block) {
  const event = { id: "", data: [] };
  for (const line of block.split("\n")) {
    const [, name, value] = /^([a-z]*): ?(.*)$/.exec(line) ?? [];
    if (name === "data") event.data.push(value);
    if (name === "id") event.id = value;
  }
  return event.data.length ? { id: event.id, ...JSON.parse(event.data.join("\n")) } : null;
}

export async function problemOf(reply) {
  try {
    const body = await reply.json();
    return body.detail || body.title;
  } catch {
    return `The server returned error ${reply.status}.`;
  }
}

// Raises AbortError once the signal is given.
export async function* streamed(url, body, signal) {
  const headers = { ...csrf, "Content-Type": "application/json", Accept: "text/event-stream" };
  let reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (!reply.ok) throw new Error(await problemOf(reply));
  const place = reply.headers.get("Location");
  let last = "";
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      for await (const block of blocks(reply)) {
        const event = parse(block);
        if (!event) continue;
        last = event.id || last;
        yield event;
        if (event.type === "done" || event.type === "error") return;
      }
    } catch (broken) {
      if (!(broken instanceof TypeError) || !place) throw broken;
    }
    if (!place) break;
    reply = await fetch(place, { headers: { "Last-Event-ID": last }, signal });
    if (!reply.ok) break;
  }
  throw new Error("The answer was interrupted. Ask again.");
}
