// The tag picker: says what is picked, closes on Escape and when the focus leaves it.
for (const picker of document.querySelectorAll(".picker")) {
  const shown = picker.querySelector("[data-picked]");
  picker.addEventListener("change", () => {
    const names = [...picker.querySelectorAll("input:checked")].map((box) => box.value);
    shown.textContent = names.join(", ") || "Any";
  });
  picker.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && picker.open) {
      picker.open = false;
      picker.querySelector("summary").focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!picker.contains(event.target)) picker.open = false;
  });
}

export function pickedTags() {
  return [...document.querySelectorAll(".picker input:checked")].map((box) => box.value);
}
