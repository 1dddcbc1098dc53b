"use strict";
// The front in each pair of objectives.
(() => {
  const { svg, ticks, short } = plotParts;
  const front = designsFront, { columns, designs, base } = front.data;
  const WIDE = 400, TALL = 310, LEFT = 52, RIGHT = 12, TOP = 10, BOTTOM = 38;
  const draw = (figure) => {
    const [i, j] = [Number(figure.dataset.x), Number(figure.dataset.y)];
    const [xs, ys] = [front.limits[i], front.limits[j]];
    const px = (value) => LEFT + ((value - xs[0]) / (xs[1] - xs[0])) * (WIDE - LEFT - RIGHT);
    const py = (value) => TALL - BOTTOM - ((value - ys[0]) / (ys[1] - ys[0])) * (TALL - TOP - BOTTOM);
    const name = (k) => `${columns[k].label}${columns[k].unit ? ` [${columns[k].unit}]` : ""}`;
    const area = svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, class: "area", role: "img", "aria-label": `${name(j)} over ${name(i)} of the designs of the front` });
    const grid = svg("g", { class: "rules" });
    for (const value of ticks(...xs, 5)) {
      grid.append(svg("path", { d: `M${px(value)} ${TOP}V${TALL - BOTTOM}` }), svg("text", { x: px(value), y: TALL - BOTTOM + 14, "text-anchor": "middle" }, short(value)));
    }
    for (const value of ticks(...ys, 5)) {
      grid.append(svg("path", { d: `M${LEFT} ${py(value)}H${WIDE - RIGHT}` }), svg("text", { x: LEFT - 5, y: py(value) + 4, "text-anchor": "end" }, short(value)));
    }
    grid.append(svg("text", { x: 0.5 * (LEFT + WIDE - RIGHT), y: TALL - 6, "text-anchor": "middle" }, name(i)));
    area.append(grid, svg("path", { d: `M${LEFT} ${TOP}V${TALL - BOTTOM}H${WIDE - RIGHT}`, class: "axis" }));
    const dots = designs.map((design) => {
      const dot = svg("circle", { cx: px(design.v[i]), cy: py(design.v[j]), r: design.name ? 5 : 3.4 });
      dot.append(svg("title", {}, front.words(design)));
      return dot;
    });
    area.append(...dots);
    if (base) {
      const [x, y] = [px(base.v[i]), py(base.v[j])];
      const mark = svg("path", { d: `M${x - 6} ${y}L${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}Z`, class: "dot base" });
      mark.append(svg("title", {}, front.words(base)));
      area.append(mark);
    }
    front.listen(() => dots.forEach((dot, k) => dot.setAttribute("class", `dot ${designs[k].name ? "named" : ""} ${front.mark(k)}`)));
    const nearest = (event) => {
      const box = area.getBoundingClientRect();
      const [x, y] = [((event.clientX - box.left) * WIDE) / box.width, ((event.clientY - box.top) * TALL) / box.height];
      let best = [18, null];
      designs.forEach((design, k) => {
        const away = Math.hypot(px(design.v[i]) - x, py(design.v[j]) - y);
        if (away < best[0] && front.within(design)) best = [away, k];
      });
      return best[1];
    };
    area.addEventListener("pointermove", (event) => front.point(nearest(event)));
    area.addEventListener("pointerleave", () => front.point(null));
    area.addEventListener("click", (event) => { const k = nearest(event); if (k !== null) front.select(k); });
    figure.querySelector(".drawn").append(area);
  };
  document.querySelectorAll("figure.objectives").forEach(draw);
})();
