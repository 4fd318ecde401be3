// An element with its attributes and children; text is only ever text.
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// For what a script sends: where people log in, a cookie alone changes nothing.
export const csrf = JSON.parse(document.body.getAttribute("hx-headers"));
