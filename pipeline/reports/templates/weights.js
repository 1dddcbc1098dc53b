"use strict";
// The weighted sum of the marks with the weights of the reader; the best model comes first.
(() => {
  const panel = document.getElementById("weights");
  const { models } = JSON.parse(document.getElementById("marks").textContent);
  const sliders = [...panel.querySelectorAll("input")];
  const body = panel.querySelector("tbody");
  const update = () => {
    const weights = Object.fromEntries(sliders.map((slider) => [slider.dataset.key, Number(slider.value)]));
    const totals = models.map(({ name, marks }) => {
      // A criterion without a mark is left out: the error of what is the truth itself is not known.
      const known = Object.entries(marks).filter(([, mark]) => mark !== null);
      const whole = known.reduce((sum, [key]) => sum + weights[key], 0);
      return { name, total: whole > 0 ? known.reduce((sum, [key, mark]) => sum + weights[key] * mark, 0) / whole : null };
    });
    totals.sort((one, other) => (other.total ?? 0) - (one.total ?? 0));
    for (const { name, total } of totals) {
      const row = body.querySelector(`[data-name="${name}"]`);
      row.querySelector("i").style.width = `${100 * (total ?? 0)}%`;
      row.querySelector("b").textContent = total === null ? "–" : total.toFixed(3);
      body.append(row);
    }
    for (const slider of sliders) slider.nextElementSibling.textContent = Number(slider.value).toString();
  };
  for (const slider of sliders) slider.addEventListener("input", update);
})();
