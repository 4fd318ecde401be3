import "./picker.js";

const slider = document.querySelector("input[name=threshold]");
const shown = document.querySelector("#threshold-shown");
slider.addEventListener("input", () => {
  shown.value = Number(slider.value).toFixed(2);
});
