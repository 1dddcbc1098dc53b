"use strict";
// Sliders of the pose and of the gait cycle; the numbers are those of live_core.js.
(async () => {
  const place = document.getElementById("live");
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") return;
  const data = JSON.parse(document.getElementById("live-data").textContent);
  const source = document.getElementById("live-core").textContent;
  const find = (name) => place.querySelector(name);
  const { short, digits, player } = plotParts;
  const figures = [...place.querySelectorAll(".live-charts figure")];
  const specs = figures.map((figure) => JSON.parse(figure.querySelector("script").textContent));
  figures.forEach((figure, k) => lineChart(figure, specs[k]));
  const knee = await new Function(`${source}; return liveKnee;`)()(data);
  const DEGREE = Math.PI / 180, SIDES = data.compartments, WIDE = 12 * SIDES.length;

  // ---- sliders ----------------------------------------------------------------------------------
  const made = { design: {}, pose: {}, gait: {} }, all = [];
  for (const { group, name, words, unit, range: [low, high], value } of data.sliders) {
    const label = document.createElement("label"), output = document.createElement("output");
    const input = Object.assign(document.createElement("input"), { type: "range", min: low, max: high, step: "any" });
    Object.assign(input.dataset, { group, name });
    const size = { "°": DEGREE, mm: 1e-3 }[unit] ?? 1;
    const own = {
      key: group === "gait" ? `gait_${name}` : name, first: value,
      get shown() { return Number(input.value); },
      set shown(given) {
        input.value = given;
        output.textContent = `${short(Number(own.shown.toFixed(unit === "N" ? 0 : 2)))} ${unit}`.trim();
      },
      get value() { return own.shown * size; },
      set value(given) { own.shown = given / size; },
    };
    own.shown = value;
    made[group][name] = own;
    all.push(own);
    label.append(words, input, output);
    find(`[data-group=${group}]`).append(label);
  }
  const carry = find("[data-do=carry]");
  const keep = () => {
    const follows = made.pose[carry.checked ? "superior" : "load"];
    const moved = all.filter((own) => own !== follows && own.shown !== own.first);
    const words = moved.map((own) => `${own.key}=${short(Number(own.shown.toPrecision(5))).replace("−", "-")}`);
    history.replaceState(null, "", `#${words.join("&")}`);
  };

  // ---- design -----------------------------------------------------------------------------------
  const valuesOf = () => Object.values(made.design).map((own) => own.shown);
  const shape = () => {
    knee.design(valuesOf());
    const rows = knee.errors().map(({ words, unit, limit, value }) =>
      `<tr><th scope="row">${words} [${unit}]</th><td${value > limit ? ' class="flagged"' : ""}>${digits(value, 2)}</td><td>${digits(limit, 2)}</td></tr>`);
    if (rows.length) find(".expected tbody").innerHTML = rows.join("");
  };
  for (const button of place.querySelectorAll("[data-design]")) {
    button.addEventListener("click", () => {
      for (const [name, value] of Object.entries(data.designs[button.dataset.design])) made.design[name].shown = value;
      later("design");
    });
  }

  // ---- pose -------------------------------------------------------------------------------------
  const inMm = (values) => Array.from(values, (value) => 1e3 * value);
  const show = (pose, loads, outside) => {
    if (typeof kneeViewer === "undefined" || !kneeViewer) return;
    const placed = knee.placed(pose), centres = loads.map((own) => (own[1] > 0 ? inMm(own.slice(9, 12)) : null));
    kneeViewer([...placed.slice(0, 9), ...inMm(placed.slice(9))], centres, outside ? null : knee.pressures(pose));
  };
  const table = find(".readout tbody");
  table.innerHTML = data.rows.map(({ words }) => `<tr><th scope="row">${words}</th>${"<td></td>".repeat(SIDES.length + 1)}</tr>`).join("");
  const write = (place, text) => { if (place.textContent !== text) place.textContent = text; };
  const tell = (answer) => {
    data.rows.forEach(({ column, size, sums }, k) => {
      const values = answer.loads.map((own) => size * own[column]), cells = table.rows[k].cells;
      values.forEach((value, side) => write(cells[side + 1], digits(value)));
      write(cells[SIDES.length + 1], sums ? digits(values.reduce((sum, value) => sum + value, 0)) : "");
    });
    const words = SIDES.map((side, k) => [side, knee.flags(answer, k).join(", ")]).filter(([, out]) => out);
    write(find(".outside"), words.length ? `outside the trained domain: ${words.map(([side, out]) => `${side} by ${out}`).join("; ")}. These loads are those of the nearest trained pose.` : "");
  };
  const offsets = ["adduction", "rotation", "anterior", "superior", "lateral"];
  const move = (shown) => {
    const own = made.pose;
    const path = knee.path(own.flexion.value);
    let pose = Float64Array.from([own.flexion.value, ...offsets.map((name, k) => path[k] + own[name].value)]);
    if (carry.checked && own.load.value > 0) {
      pose = knee.carrying(pose, own.load.value) ?? pose;
      own.superior.value = pose[4] - path[3];
    }
    const answer = knee.loads(pose);
    if (!carry.checked) own.load.value = knee.axial(answer);
    tell(answer);
    if (shown) show(pose, answer.loads, answer.outside);
  };

  // ---- gait -------------------------------------------------------------------------------------
  const rowsOf = (flat, wide) => Array.from({ length: data.count }, (_, k) => flat.subarray(wide * k, wide * (k + 1)));
  let latest = null, first = null, waiting = null, busy = false;
  const drawn = ({ ended, poses, loads, sliding, outside, ms }) => {
    const state = find(".cycle-state");
    if (ended) { state.textContent = `The cycle with these inputs ends early: ${ended}.`; return; }
    latest = { poses: rowsOf(poses, 6), loads: rowsOf(loads, WIDE) };
    first ??= sliding;
    const told = outside ? `${outside} of ${data.count} instants are outside the trained domain.` : `Simulated in ${digits(ms)} ms.`;
    const worn = SIDES.map((side, k) => `${side} ${digits(sliding[k] / first[k])}`).join(", ");
    state.textContent = `${told} Wear over that of the run, by force and sliding at the centre of pressure: ${worn}.`;
    specs.forEach((spec, k) => {
      const { of, column, size } = data.charts[k], nominal = spec.lines.length / 2;
      for (let line = 0; line < nominal; line += 1) {
        const y = latest[of].map((row) => size * row[column + 12 * line]).map((value) => (Number.isFinite(value) ? value : null));
        spec.lines[nominal + line].y = y;
        if (!("walked" in place.dataset)) spec.lines[line].y = y;
      }
      figures[k].redraw();
    });
    place.dataset.walked = "";
  };
  const glue = `let knee; onmessage = async ({ data }) => {
    if (data.image) { knee = liveKnee(data); return; }
    const ready = await knee, begun = performance.now(), found = ready.cycle(data);
    postMessage({ ...found, ms: performance.now() - begun });
  };`;
  const worker = new Worker(URL.createObjectURL(new Blob([source, glue], { type: "text/javascript" })));
  const next = () => {
    if (busy || !waiting) return;
    [busy, waiting] = [true, (worker.postMessage(waiting), null)];
  };
  worker.onmessage = ({ data: found }) => { busy = false; drawn(found); next(); };
  const walk = () => {
    const own = Object.fromEntries(Object.entries(made.gait).map(([name, { value }]) => [name, value]));
    const factors = Object.fromEntries(data.driven.map((name) => [name, own[name]]));
    waiting = { factors, restraints: { 3: own.ap_spring, 2: own.rotation_spring }, alignment: [0, own.adduction, own.rotation, own.anterior, 0, 0], parameters: valuesOf() };
    next();
  };
  let instant = 0;
  const stop = player(find("[data-do=walk]"), () => {
    if (!latest) return;
    const flat = latest.loads[instant];
    show(latest.poses[instant], SIDES.map((_, k) => flat.subarray(12 * k, 12 * k + 12)));
    for (const figure of figures) figure.pin(instant);
    instant = (instant + 1) % data.count;
  }, 4000 / data.count);
  find("[data-do=nominal]").addEventListener("click", () => {
    for (const own of Object.values(made.gait)) own.shown = own.first;
    later("gait");
  });

  // ---- changes: a frame shows all since the last one, the address all when they pause -----------
  const due = new Set();
  let pause = null;
  const frame = () => {
    const [design, pose, gait] = ["design", "pose", "gait"].map((group) => due.has(group));
    due.clear();
    if (design) shape();
    if (design || gait) walk();
    if (design || pose) { stop(); move(true); }
    clearTimeout(pause);
    pause = setTimeout(keep, 200);
  };
  const later = (group) => {
    if (!due.size) requestAnimationFrame(frame);
    due.add(group);
  };
  place.addEventListener("input", ({ target }) => {
    const { group, name } = target.dataset;
    if (group) made[group][name].shown = target.value;
    if (name === "superior" || name === "load") carry.checked = name === "load";
    later(group ?? "pose");
  });

  // ---- begin ------------------------------------------------------------------------------------
  // The first cycle is that of the run.
  worker.postMessage(data);
  shape();
  walk();
  const kept = new URLSearchParams(location.hash.slice(1));
  for (const own of all) if (kept.has(own.key)) own.shown = kept.get(own.key);
  place.hidden = false;
  place.parentElement.querySelector(".live-none").hidden = true;
  if (kept.size) place.scrollIntoView();
  if (kept.has("superior") && !kept.has("load")) carry.checked = false;
  shape();
  move(false);
  walk();
  place.dataset.ready = "";
})();
