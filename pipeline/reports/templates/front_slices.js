"use strict";
// Objectives along each parameter through a verified design.
(() => {
  const { svg, ticks, short } = plotParts;
  const front = designsFront, { columns, slices } = front.data;
  const choice = document.getElementById("slice");
  const grid = document.getElementById("slices");
  const objectives = columns.flatMap(({ goal }, k) => (goal ? [k] : []));
  const WIDE = 260, TALL = 180, LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 34;
  // One scale of an objective for all parameters and designs.
  const scale = (row) => {
    const all = Object.values(slices).flatMap(({ along }) => along.flatMap(({ y }) => y[row])).filter((value) => value !== null);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const margin = Math.max(0.05 * (high - low), 1e-3 * Math.abs(high), 1e-9);
    return [low - margin, high + margin];
  };
  const scales = objectives.map((_, row) => scale(row));
  const panel = ({ parameter, x, y, here }, row) => {
    const [column, objective] = [columns[parameter], columns[objectives[row]]];
    const [xs, ys] = [column.range, scales[row]];
    const px = (value) => LEFT + ((value - xs[0]) / (xs[1] - xs[0])) * (WIDE - LEFT - RIGHT);
    const py = (value) => TALL - BOTTOM - ((value - ys[0]) / (ys[1] - ys[0])) * (TALL - TOP - BOTTOM);
    const label = `${column.label}${column.unit ? ` [${column.unit}]` : ""}`;
    const area = svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, class: "area", role: "img", "aria-label": `${objective.label} along ${label}` });
    const lines = svg("g", { class: "rules" });
    for (const value of ticks(...xs, 4)) lines.append(svg("path", { d: `M${px(value)} ${TOP}V${TALL - BOTTOM}` }), svg("text", { x: px(value), y: TALL - BOTTOM + 13, "text-anchor": "middle" }, short(value)));
    for (const value of ticks(...ys, 4)) lines.append(svg("path", { d: `M${LEFT} ${py(value)}H${WIDE - RIGHT}` }), svg("text", { x: LEFT - 4, y: py(value) + 4, "text-anchor": "end" }, short(value)));
    lines.append(svg("text", { x: 0.5 * (LEFT + WIDE - RIGHT), y: TALL - 5, "text-anchor": "middle" }, label));
    let d = "";
    y[row].forEach((value, k) => {
      if (value !== null) d += `${k === 0 || y[row][k - 1] === null ? "M" : "L"}${px(x[k]).toFixed(1)} ${py(value).toFixed(1)}`;
    });
    area.append(lines, svg("path", { d: `M${LEFT} ${TOP}V${TALL - BOTTOM}H${WIDE - RIGHT}`, class: "axis" }), svg("path", { d: `M${px(here)} ${TOP}V${TALL - BOTTOM}`, class: "here" }), svg("path", { d }));
    return area;
  };
  const draw = () => {
    const { along } = slices[choice.value];
    grid.replaceChildren(...objectives.flatMap((k, row) => {
      const head = document.createElement("h3"), panels = document.createElement("div");
      head.textContent = `${columns[k].label}${columns[k].unit ? ` [${columns[k].unit}]` : ""}`;
      panels.className = "grid small";
      panels.append(...along.map((slice) => panel(slice, row)));
      return [head, panels];
    }));
  };
  choice.addEventListener("change", draw);
  front.listen(() => {
    const name = front.data.designs[front.selected]?.name;
    if (name && name in slices && name !== choice.value && front.pointed === null) { choice.value = name; draw(); }
  });
  draw();
})();
