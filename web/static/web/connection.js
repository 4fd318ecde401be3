// Says that the server cannot be reached until it replies again: states on the page may be old.
const warning = document.createElement("p");
warning.className = "problem";
warning.textContent = "Cannot reach the server. What you see may be out of date.";
const warn = () => document.querySelector("#notice").append(warning);

document.addEventListener("htmx:sendError", warn);
document.addEventListener("htmx:afterOnLoad", (event) => {
  // A proxy replies 502 for a server that is down.
  if (event.detail.xhr.status === 502) warn();
  else warning.remove();
});
