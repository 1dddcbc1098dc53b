"use strict";
// Line figures with values under the pointer, zoom and data as CSV, from the numbers in the page.
const lineChart = (figure, spec = JSON.parse(figure.querySelector("script").textContent)) => {
  const { svg, ticks, short, digits, save } = plotParts;
  const [WIDE, TALL] = spec.size, LEFT = 44, RIGHT = 10, TOP = 8, BOTTOM = 34;
  const lines = spec.lines;
  for (const line of lines) line.x ??= spec.at;
  const known = (values) => values.filter((value) => value !== null);

  // ---- limits -------------------------------------------------------------------------------
  const spread = (values, margin) => {
    let [low, high] = [Math.min(...values), Math.max(...values)];
    const least = 1e-6 * Math.max(Math.abs(low), Math.abs(high), 1e-6);
    if (high - low < least) [low, high] = [low - least, high + least];
    return [low - margin * (high - low), high + margin * (high - low)];
  };
  const outlines = spec.outlines ?? [];
  const wholeOf = () => {
    const all = (axis) => known([
      ...lines.flatMap((line) => line[axis]), ...outlines.flatMap((line) => line[axis]),
      ...(axis === "y" && spec.reference ? [spec.reference[1]] : []),
      ...(axis === "y" && spec.from_zero ? [0] : []),
    ]);
    const x = spec.x.range ?? spread(all("x"), 0.03);
    const y = spec.y.range ?? spread(all("y"), 0.06);
    if (spec.from_zero) y[0] = 0;
    if (!spec.equal) return { x, y };
    // One scale for both axes.
    const scale = Math.max((x[1] - x[0]) / (WIDE - LEFT - RIGHT), (y[1] - y[0]) / (TALL - TOP - BOTTOM));
    const about = ([low, high], room) => [0.5 * (low + high - scale * room), 0.5 * (low + high + scale * room)];
    return { x: about(x, WIDE - LEFT - RIGHT), y: about(y, TALL - TOP - BOTTOM) };
  };
  let limits = wholeOf();
  const px = (value) => LEFT + ((value - limits.x[0]) / (limits.x[1] - limits.x[0])) * (WIDE - LEFT - RIGHT);
  const py = (value) => TALL - BOTTOM - ((value - limits.y[0]) / (limits.y[1] - limits.y[0])) * (TALL - TOP - BOTTOM);

  // ---- drawing ------------------------------------------------------------------------------
  const area = svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, class: "area", tabindex: 0, role: "img", "aria-label": spec.text });
  const room = [LEFT, TOP, WIDE - LEFT - RIGHT, TALL - TOP - BOTTOM];
  // A picture within the picture cuts what lies outside the axes.
  const inner = svg("svg", { x: room[0], y: room[1], width: room[2], height: room[3], viewBox: room.join(" ") });
  const [grid, over] = [svg("g", { class: "grid" }), svg("g", { class: "over" })];
  area.append(grid, inner, over);

  const path = ({ x, y }) => {
    let d = "";
    y.forEach((value, k) => {
      if (value === null || x[k] === null) return;
      const begins = k === 0 || y[k - 1] === null || x[k - 1] === null;
      d += `${begins ? "M" : "L"}${px(x[k]).toFixed(2)} ${py(value).toFixed(2)}`;
    });
    return d;
  };
  const style = ({ colour, dash, width }) => ({
    fill: "none", stroke: colour, "stroke-width": width, "stroke-dasharray": dash ?? "none", "stroke-linejoin": "round" });
  const draw = () => {
    grid.replaceChildren();
    inner.replaceChildren();
    over.replaceChildren();
    const foot = TALL - BOTTOM;
    for (const value of ticks(...limits.x, WIDE > 420 ? 8 : 5)) {
      grid.append(svg("path", { d: `M${px(value)} ${TOP}V${foot}` }));
      grid.append(svg("text", { x: px(value), y: foot + 14, "text-anchor": "middle" }, short(value)));
    }
    for (const value of ticks(...limits.y, spec.equal ? 6 : 5)) {
      grid.append(svg("path", { d: `M${LEFT} ${py(value)}H${WIDE - RIGHT}` }));
      grid.append(svg("text", { x: LEFT - 5, y: py(value) + 4, "text-anchor": "end" }, short(value)));
    }
    grid.append(svg("path", { d: `M${LEFT} ${TOP}V${foot}H${WIDE - RIGHT}`, class: "axis" }));
    grid.append(svg("text", { x: 0.5 * (LEFT + WIDE - RIGHT), y: TALL - 4, "text-anchor": "middle" }, spec.x.label));
    for (const line of outlines) inner.append(svg("path", { d: `${path(line)}Z`, fill: "#f2efe6", stroke: "#8a8a8a" }));
    if (spec.reference) inner.append(svg("path", { d: `M${LEFT} ${py(spec.reference[1])}H${WIDE}`, stroke: "#d55e00", "stroke-dasharray": "5 3", "stroke-width": 1.5 }));
    for (const line of lines) {
      if (line.points) {
        const fill = line.dash ? "none" : line.colour;
        line.y.forEach((value, k) => { if (value !== null) inner.append(svg("circle", { cx: px(line.x[k]), cy: py(value), r: line.width, fill, stroke: line.colour })); });
        continue;
      }
      if (!line.shades) { inner.append(svg("path", { d: path(line), ...style(line) })); continue; }
      // A colour for each part of the way.
      for (let k = 0; k + 1 < line.x.length; k += 1) {
        const part = { x: line.x.slice(k, k + 2), y: line.y.slice(k, k + 2) };
        if (!known([...part.x, ...part.y]).length || known([...part.x, ...part.y]).length < 4) continue;
        inner.append(svg("path", { d: path(part), ...style(line), stroke: line.shades[k], "stroke-linecap": "round" }));
      }
    }
  };

  // ---- values under the pointer -------------------------------------------------------------
  const told = figure.querySelector("output");
  // The first figure of a group tells how all of them are used.
  const rest = figure.matches(":first-child") ? "Point for values." : "";
  let pinned = null;
  const still = () => {
    told.textContent = rest;
    over.replaceChildren();
    if (pinned !== null) tellAt(pinned);
  };
  const withUnit = (value, label) => `${digits(value, 4)}${(/\[(.+)\]/.exec(label) ?? ["", ""])[1].replace(/^/, " ")}`;
  const dot = (x, y, colour) => over.append(svg("circle", { cx: px(x), cy: py(y), r: 3.4, fill: "#fff", stroke: colour, "stroke-width": 2 }));
  const tellAt = (k) => {
    over.replaceChildren();
    over.append(svg("path", { d: `M${px(spec.at[k])} ${TOP}V${TALL - BOTTOM}`, class: "cursor" }));
    const words = lines.map((line) => {
      const value = line.y[k] ?? null;
      if (value !== null) dot(spec.at[k], value, line.colour);
      return `${line.name ? `${line.name} ` : ""}${withUnit(value, spec.y.label)}`;
    });
    told.textContent = `${short(spec.at[k])}${withUnit(0, spec.x.label).slice(1)}: ${words.join(", ")}`;
    Object.assign(told.dataset, { k });
  };
  const axisWord = ({ label }) => label.split(" [")[0];
  const cycle = "% of the cycle";
  const tellPoint = (line, k) => {
    over.replaceChildren();
    dot(line.x[k], line.y[k], line.colour);
    const along = line.along ? `, ${short(line.along[k])} ${cycle}` : "";
    told.textContent = `${line.name}${along}: ${withUnit(line.x[k], spec.x.label)} ${axisWord(spec.x)}, ${withUnit(line.y[k], spec.y.label)} ${axisWord(spec.y)}`;
    Object.assign(told.dataset, { k });
  };
  const shared = lines.every((line) => line.x === spec.at);
  const inArea = (event) => {
    const box = area.getBoundingClientRect();
    return [((event.clientX - box.left) * WIDE) / box.width, ((event.clientY - box.top) * TALL) / box.height];
  };
  let chosen = 0;
  const nearest = (event) => {
    const [x, y] = inArea(event);
    if (shared) {
      const away = spec.at.map((value) => Math.abs(px(value) - x));
      chosen = away.indexOf(Math.min(...away));
      tellAt(chosen);
      return;
    }
    let best = [Infinity];
    lines.forEach((line) => line.x.forEach((value, k) => {
      if (value === null || line.y[k] === null) return;
      const away = Math.hypot(px(value) - x, py(line.y[k]) - y);
      if (away < best[0]) best = [away, line, k];
    }));
    if (best[1]) tellPoint(best[1], best[2]);
  };

  area.addEventListener("pointerdown", nearest);
  area.addEventListener("pointermove", nearest);
  area.addEventListener("click", () => figure.dispatchEvent(new CustomEvent("pick", { detail: chosen })));
  area.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") still(); });
  area.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !shared) return;
    event.preventDefault();
    chosen = Math.max(0, Math.min(spec.at.length - 1, chosen + by));
    tellAt(chosen);
  });

  // ---- data ---------------------------------------------------------------------------------
  const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = () => {
    const columns = shared ? [[spec.x.label, spec.at]] : [];
    for (const line of lines) {
      const head = line.name ? `${line.name}: ` : "";
      if (!shared && line.along) columns.push([`${head}gait cycle [%]`, line.along]);
      if (!shared) columns.push([`${head}${spec.x.label}`, line.x]);
      columns.push([`${head}${spec.y.label}`, line.y]);
    }
    const rows = Math.max(...columns.map(([, values]) => values.length));
    const text = [columns.map(([name]) => cell(name)).join(",")];
    for (let k = 0; k < rows; k += 1) text.push(columns.map(([, values]) => values[k] ?? "").join(","));
    return `${text.join("\r\n")}\r\n`;
  };
  figure.querySelector("button").onclick = () => save(`${spec.name}.csv`, csv());
  // Keeps the values at an instant, unless the pointer is elsewhere.
  figure.pin = (k) => { pinned = k; still(); };

  // Draws changed lines.
  figure.redraw = () => {
    limits = wholeOf();
    draw();
    still();
  };

  draw();
  still();
  figure.querySelector(".drawn").replaceChildren(area);
  figure.classList.add("live");
};
