"use strict";
// Outlines of the implant of the design that is pointed at or selected, and of the base design.
(() => {
  const { svg } = plotParts;
  const front = designsFront, { base } = front.data;
  document.querySelectorAll("figure.outlines").forEach((figure) => {
    const view = figure.dataset.view, box = front.data.boxes[view];
    const area = svg("svg", { viewBox: `${box[0] - 2} ${box[1] - 2} ${box[2] - box[0] + 4} ${box[3] - box[1] + 4}`, class: "area", role: "img", "aria-label": `${figure.dataset.words} of the design` });
    const insert = svg("path", { class: "insert" }), femur = svg("path", { class: "femur" });
    area.append(insert, femur);
    if (base?.outlines) area.append(...base.outlines[view].map((d) => svg("path", { d, class: "base" })));
    front.listen(() => {
      if (!front.shown) return;
      const [above, below] = front.shown.outlines[view];
      femur.setAttribute("d", above);
      insert.setAttribute("d", below);
      figure.querySelector("b").textContent = front.shown.label;
    });
    figure.querySelector(".drawn").append(area);
  });
})();
