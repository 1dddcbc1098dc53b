"use strict";
// The time strip: peak pressures over the cycle with axes; the strip is the slider of the instant.
const timeStrip = (place, { percent, lines, most, go, step }) => {
  const { svg, ticks, short } = plotParts;
  const LEFT = 34, RIGHT = 14, TOP = 8, BOTTOM = 30;
  const part = Object.fromEntries(["grid", "curves", "limit", "now"].map((name) => [name, svg("g", { class: name })]));
  place.append(...Object.values(part));
  const state = { frame: 0, limit: null, width: 0, height: 0 };
  const x = (value) => LEFT + (value / 100) * (state.width - LEFT - RIGHT);
  const y = (value) => state.height - BOTTOM - (value / most) * (state.height - TOP - BOTTOM);

  const mark = () => {
    part.limit.replaceChildren();
    if (state.limit !== null && state.limit <= most) {
      part.limit.append(svg("path", { d: `M${LEFT} ${y(state.limit)}H${state.width - RIGHT}` }));
    }
    const at = x(percent[state.frame]);
    part.now.replaceChildren(svg("path", { d: `M${at} ${TOP}V${state.height - BOTTOM}` }));
    part.now.append(svg("path", { class: "grip", d: `M${at} ${state.height - BOTTOM}l6 8h-12z` }));
    for (const { values, name } of lines) {
      const value = values[state.frame];
      if (value !== null) part.now.append(svg("circle", { cx: at, cy: y(value), r: 3.5, class: name }));
    }
  };
  const layOut = () => {
    const box = place.getBoundingClientRect();
    if (!box.width || (box.width === state.width && box.height === state.height)) return;
    Object.assign(state, { width: box.width, height: box.height });
    place.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    part.grid.replaceChildren();
    const foot = state.height - BOTTOM;
    for (const value of ticks(0, most, 4)) {
      part.grid.append(svg("path", { d: `M${LEFT} ${y(value)}H${state.width - RIGHT}` }));
      part.grid.append(svg("text", { x: LEFT - 5, y: y(value) + 4, "text-anchor": "end" }, short(value)));
    }
    for (const value of ticks(0, 100, box.width < 420 ? 5 : 10)) {
      part.grid.append(svg("path", { d: `M${x(value)} ${foot}v4` }));
      part.grid.append(svg("text", { x: x(value), y: foot + 15, "text-anchor": "middle" }, short(value)));
    }
    part.grid.append(svg("text", { x: state.width - RIGHT, y: state.height - 3, "text-anchor": "end" }, "gait cycle [%]"));
    part.grid.append(svg("text", { x: 2, y: state.height - 3 }, "peak [MPa]"));
    part.curves.replaceChildren(...lines.map(({ values, name }) => {
      let d = "";
      values.forEach((value, k) => {
        if (value === null) return;
        d += `${k && values[k - 1] !== null ? "L" : "M"}${x(percent[k]).toFixed(1)} ${y(value).toFixed(1)}`;
      });
      return svg("path", { d, class: name });
    }));
    mark();
  };

  const pick = (event) => {
    const box = place.getBoundingClientRect();
    const wanted = (100 * (event.clientX - box.left - LEFT)) / (state.width - LEFT - RIGHT);
    const gaps = percent.map((value) => Math.abs(value - wanted));
    go(gaps.indexOf(Math.min(...gaps)));
  };
  let held = false;
  place.addEventListener("pointerdown", (event) => {
    held = true;
    place.setPointerCapture(event.pointerId);
    pick(event);
  });
  place.addEventListener("pointermove", (event) => { if (held) pick(event); });
  for (const name of ["pointerup", "pointercancel"]) place.addEventListener(name, () => { held = false; });
  const KEYS = {
    ArrowLeft: () => step(-1), ArrowDown: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => step(1),
    PageDown: () => step(-5), PageUp: () => step(5), Home: () => go(0), End: () => go(percent.length - 1),
  };
  place.addEventListener("keydown", (event) => {
    if (!KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  new ResizeObserver(layOut).observe(place);
  return {
    show: (frame, text) => {
      state.frame = frame;
      place.setAttribute("aria-valuenow", Number(percent[frame].toFixed(1)));
      place.setAttribute("aria-valuetext", text);
      if (state.width) mark();
    },
    limit: (value) => { state.limit = value; if (state.width) mark(); },
  };
};
