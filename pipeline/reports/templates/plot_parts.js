"use strict";
// Parts that the figures of the page share: SVG elements, round ticks, numbers as text, files.
const plotParts = (() => {
  const page = document.createElement("template");
  page.innerHTML = "<svg></svg>";
  const space = page.content.firstChild.namespaceURI;
  const svg = (name, attributes = {}, text = "") => {
    const element = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };
  const ticks = (low, high, most = 6) => {
    const rough = Math.max((high - low) / most, 1e-300);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].find((s) => s * power >= rough * (1 - 1e-9)) * power;
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
    return found;
  };
  const minus = (text) => text.replace("-", "−");
  // Ticks and lengths as people write them, without the noise of binary fractions.
  const short = (value) => minus(String(Number(value.toPrecision(6))));
  const digits = (value, count = 3) => {
    if (value === null || !Number.isFinite(value)) return "–";
    if (Math.abs(Number(value.toPrecision(count))) >= 10 ** count) return minus(String(Math.round(value)));
    return minus(value === 0 ? "0" : value.toPrecision(count));
  };
  const save = (name, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  // A button that plays: calls `step` every so many milliseconds; returns how to stop.
  const player = (button, step, pause) => {
    let timer = null;
    const stop = () => { clearInterval(timer); timer = null; button.textContent = "▶ Play"; };
    button.addEventListener("click", () => {
      if (timer !== null) { stop(); return; }
      button.textContent = "❚❚ Pause";
      timer = setInterval(step, pause);
    });
    return stop;
  };
  return { svg, ticks, short, digits, save, player };
})();
