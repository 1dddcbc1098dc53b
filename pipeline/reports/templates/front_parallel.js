"use strict";
// Parallel coordinates: a line for each design; ranges are drawn on the axes, or typed.
(() => {
  const { svg, short, digits } = plotParts;
  const front = designsFront, { columns, designs, base } = front.data;
  const figure = document.getElementById("parallel");
  const WIDE = Math.max(640, 118 * columns.length), TALL = 340, TOP = 64, BOTTOM = 22, SIDE = 58;
  const px = (k) => (columns.length < 2 ? WIDE / 2 : SIDE + (k * (WIDE - 2 * SIDE)) / (columns.length - 1));
  const py = (k, value) => {
    const [low, high] = front.limits[k];
    return TALL - BOTTOM - ((value - low) / (high - low)) * (TALL - TOP - BOTTOM);
  };
  const fromPy = (k, y) => {
    const [low, high] = front.limits[k];
    return low + ((TALL - BOTTOM - y) / (TALL - TOP - BOTTOM)) * (high - low);
  };
  const path = ({ v }) => v.map((value, k) => `${k ? "L" : "M"}${px(k).toFixed(1)} ${py(k, value).toFixed(1)}`).join("");

  // ---- drawing ------------------------------------------------------------------------------
  const area = svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, class: "area", role: "img", "aria-label": "Parallel coordinates: parameters and objectives of the designs of the front" });
  const lines = designs.map((design) => svg("path", { d: path(design), class: "line" }));
  area.append(...lines);
  if (base) area.append(svg("path", { d: path(base), class: "line base" }));
  const over = svg("g");
  const brushes = columns.map(() => svg("rect", { class: "brush", width: 16, visibility: "hidden" }));
  const wrapped = (text) => {
    const rows = [""];
    for (const word of text.split(" ")) {
      const last = rows[rows.length - 1];
      if (last && last.length + word.length > 15) rows.push(word); else rows[rows.length - 1] = last ? `${last} ${word}` : word;
    }
    return rows;
  };
  columns.forEach((column, k) => {
    const [low, high] = front.limits[k];
    area.append(svg("path", { d: `M${px(k)} ${TOP}V${TALL - BOTTOM}`, class: "axis" }));
    const words = wrapped(`${column.label}${column.unit ? ` [${column.unit}]` : ""}${column.goal ? (column.goal === "least" ? " ↓" : " ↑") : ""}`);
    words.forEach((word, row) => area.append(svg("text", { x: px(k), y: TOP - 20 - 13 * (words.length - 1 - row), "text-anchor": "middle" }, word)));
    area.append(svg("text", { x: px(k), y: TOP - 6, "text-anchor": "middle", "font-size": 10.5 }, digits(high, 3)));
    area.append(svg("text", { x: px(k), y: TALL - BOTTOM + 13, "text-anchor": "middle", "font-size": 10.5 }, digits(low, 3)));
    brushes[k].setAttribute("x", px(k) - 8);
    area.append(brushes[k], svg("rect", { x: px(k) - 12, y: TOP, width: 24, height: TALL - TOP - BOTTOM, class: "grip" }));
  });
  area.append(over);
  const update = () => {
    lines.forEach((line, k) => line.setAttribute("class", `line ${front.mark(k)}`));
    over.replaceChildren();
    for (const [k, name] of [[front.selected, "selected"], [front.pointed, "pointed"]]) {
      if (k !== null) over.append(svg("path", { d: path(designs[k]), class: `line ${name}`, "pointer-events": "none" }));
    }
    columns.forEach((_, k) => {
      const range = front.range(k);
      brushes[k].setAttribute("visibility", range ? "visible" : "hidden");
      if (!range) return;
      const [top, foot] = [py(k, range[1]), py(k, range[0])];
      brushes[k].setAttribute("y", Math.max(top, TOP));
      brushes[k].setAttribute("height", Math.max(Math.min(foot, TALL - BOTTOM) - Math.max(top, TOP), 1));
    });
  };

  // ---- pointer ------------------------------------------------------------------------------
  const inArea = (event) => {
    const box = area.getBoundingClientRect();
    return [((event.clientX - box.left) * WIDE) / box.width, ((event.clientY - box.top) * TALL) / box.height];
  };
  const nearest = ([x, y]) => {
    const left = Math.min(Math.max(columns.findLastIndex((_, k) => px(k) <= x), 0), Math.max(columns.length - 2, 0));
    const right = Math.min(left + 1, columns.length - 1);
    const part = right > left ? (x - px(left)) / (px(right) - px(left)) : 0;
    let best = [14, null];
    designs.forEach((design, k) => {
      if (!front.within(design)) return;
      const away = Math.abs((1 - part) * py(left, design.v[left]) + part * py(right, design.v[right]) - y);
      if (away < best[0]) best = [away, k];
    });
    return best[1];
  };
  let drawn = null;
  area.addEventListener("pointerdown", (event) => {
    const [x, y] = inArea(event);
    const k = columns.findIndex((_, axis) => Math.abs(px(axis) - x) < 12);
    if (k >= 0 && y > TOP - 4 && y < TALL - BOTTOM + 4) {
      drawn = { k, y };
      area.setPointerCapture(event.pointerId);
    } else {
      const found = nearest([x, y]);
      if (found !== null) front.select(found);
    }
  });
  area.addEventListener("pointermove", (event) => {
    const at = inArea(event);
    if (!drawn) { front.point(nearest(at)); return; }
    const ends = [fromPy(drawn.k, drawn.y), fromPy(drawn.k, at[1])].sort((a, b) => a - b);
    front.setRange(drawn.k, ends);
  });
  area.addEventListener("pointerup", (event) => {
    if (drawn && Math.abs(inArea(event)[1] - drawn.y) < 4) front.setRange(drawn.k, null);
    drawn = null;
  });
  area.addEventListener("pointerleave", () => { if (!drawn) front.point(null); });

  // ---- typed ranges -------------------------------------------------------------------------
  const ranges = document.getElementById("ranges");
  columns.forEach((column, k) => {
    const field = document.createElement("fieldset");
    const legend = document.createElement("legend");
    legend.textContent = `${column.label}${column.unit ? ` [${column.unit}]` : ""}`;
    const inputs = ["from", "to"].map((word) => {
      const input = Object.assign(document.createElement("input"), { type: "number", step: "any" });
      input.setAttribute("aria-label", `${legend.textContent} ${word}`);
      return input;
    });
    inputs.forEach((input) => input.addEventListener("change", () => {
      const ends = inputs.map(({ value }, end) => (value === "" ? (end ? Infinity : -Infinity) : Number(value)));
      front.setRange(k, ends.every((end) => !Number.isFinite(end)) ? null : ends);
    }));
    field.append(legend, inputs[0], " to ", inputs[1]);
    ranges.append(field);
    front.listen(() => {
      const range = front.range(k);
      inputs.forEach((input, end) => {
        if (input !== document.activeElement) input.value = range && Number.isFinite(range[end]) ? Number(range[end].toPrecision(4)) : "";
      });
    });
  });
  figure.querySelector("button").addEventListener("click", front.clear);

  const told = figure.querySelector("output");
  front.listen(() => {
    update();
    const inside = designs.filter(front.within).length;
    told.replaceChildren(`${short(inside)} of ${short(designs.length)} designs within the ranges. `);
    if (front.shown) told.append(front.words(front.shown));
  });
  figure.querySelector(".drawn").append(area);
})();
