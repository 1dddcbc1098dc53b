"use strict";
// Sliders of the pose and of the gait cycle; the numbers are those of live_core.js.
(() => {
  const place = document.getElementById("live");
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") return;
  const data = JSON.parse(document.getElementById("live-data").textContent);
  const source = document.getElementById("live-core").textContent;
  const find = (name) => place.querySelector(name);
  const { svg, ticks, short, digits } = plotParts;
  const DEGREE = Math.PI / 180, SIDES = data.compartments, COLOURS = ["#0072b2", "#e69f00"];

  // ---- sliders ----------------------------------------------------------------------------------
  const [turn, twist, forward, across] = data.offsets;
  const most = Math.round(data.load.reduce((sum, load) => sum + load, 0) / 10) * 10;
  // Name, words, unit, its size in SI, range in SI; coordinates but flexion count from the path.
  const POSE = [
    ["flexion", "flexion", "°", DEGREE, data.flexion[0], data.flexion[1]],
    ["adduction", "adduction", "°", DEGREE, -1.3 * turn, 1.3 * turn],
    ["rotation", "internal rotation", "°", DEGREE, -1.3 * twist, 1.3 * twist],
    ["anterior", "anterior", "mm", 1e-3, -1.3 * forward, 1.3 * forward],
    ["superior", "superior", "mm", 1e-3, -1e-3, 1e-3],
    ["lateral", "lateral", "mm", 1e-3, -1.3 * across, 1.3 * across],
    ["load", "axial load", "N", 1, 0, most],
  ];
  const GAIT = [
    ...[["axial", "axial force", 0.3, 1.7], ["ap", "AP force", -1, 3], ["torque", "internal torque", -1, 3], ["flexion", "flexion", 0.5, 1.2]]
      .filter(([name]) => data.driven.includes(name)).map(([name, words, low, high]) => [name, `${words} of the run ×`, "", 1, low, high, 1]),
    ["ap_spring", "AP restraint ×", "", 1, 0.2, 5, 1], ["rotation_spring", "rotational restraint ×", "", 1, 0.2, 5, 1],
    ["rotation", "femoral component, internal rotation", "°", DEGREE, -8 * DEGREE, 8 * DEGREE, 0],
    ["adduction", "femoral component, adduction", "°", DEGREE, -3 * DEGREE, 3 * DEGREE, 0],
    ["anterior", "femoral component, anterior", "mm", 1e-3, -4e-3, 4e-3, 0],
  ];
  const made = { pose: {}, gait: {} };
  for (const [group, rows] of [["pose", POSE], ["gait", GAIT]]) {
    for (const [name, words, unit, size, low, high, value = 0] of rows) {
      const label = document.createElement("label"), output = document.createElement("output");
      const input = Object.assign(document.createElement("input"), { type: "range", min: low / size, max: high / size, step: "any" });
      Object.assign(input.dataset, { group, name });
      input.value = value / size;
      label.append(words, input, output);
      find(`[data-group=${group}]`).append(label);
      const own = {
        input, first: value,
        get value() { return Number(input.value) * size; },
        set value(given) { input.value = given / size; own.tell(); },
        tell: () => { output.textContent = `${short(Number(Number(input.value).toFixed(unit === "N" ? 0 : 2)))} ${unit}`.trim(); },
      };
      own.tell();
      made[group][name] = own;
    }
  }

  // ---- pose ---------------------------------------------------------------------------------------
  // The reference path (5) at a flexion [rad].
  const path = (flexion) => {
    const knots = data.path.flexion, inner = knots.slice(1, -1).filter((knot) => knot <= flexion).length;
    const t = flexion - knots[inner];
    return data.path.pieces.reduce((sum, power) => sum.map((value, k) => value * t + power[inner][k]), [0, 0, 0, 0, 0]);
  };
  const rotation = ([flexion, adduction, internal]) => {
    const [cf, sf, ca, sa, ci, si] = [flexion, -adduction, -internal].flatMap((angle) => [Math.cos(angle), Math.sin(angle)]);
    return [
      ci * cf + si * sa * sf, -ci * sf + si * sa * cf, si * ca,
      ca * sf, ca * cf, -sa,
      -si * cf + ci * sa * sf, si * sf + ci * sa * cf, ci * ca];
  };
  const show = (pose, answer) => {
    const centres = answer.loads.map((own) => (own[1] > 0 ? Array.from(own.subarray(9, 12), (value) => 1e3 * value) : null));
    document.dispatchEvent(new CustomEvent("knee-live", { detail: {
      pose: Float32Array.from([...rotation(pose), ...Array.from(pose.slice(3), (value) => 1e3 * value)]), centres } }));
  };
  const ROWS = [
    ["axial force [N]", 1, 1, true], ["AP force [N]", 0, 1, true], ["ML force [N]", 2, 1, true],
    ["peak pressure [MPa]", 7, 1e-6], ["mean pressure [MPa]", 8, 1e-6], ["contact area [mm²]", 6, 1e6, true],
    ["centre of pressure, anterior [mm]", 9, 1e3], ["centre of pressure, lateral [mm]", 11, 1e3],
  ];
  const told = (answer) => {
    const rows = ROWS.map(([words, column, size, sums]) => {
      const cells = answer.loads.map((own) => digits(size * own[column]));
      cells.push(sums ? digits(size * answer.loads.reduce((sum, own) => sum + own[column], 0)) : "");
      return `<tr><th scope="row">${words}</th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
    });
    find("tbody").innerHTML = rows.join("");
    const words = SIDES.flatMap((side, k) => knee.flags(answer, k).map(({ text }) => `${side}: ${text}`));
    find(".outside").textContent = words.length ? `${words.join("; ")}. These loads are those of the nearest trained pose.` : "";
  };
  const keep = () => {
    const known = Object.entries(made.pose).map(([name, own]) => `${name}=${short(Number(Number(own.input.value).toPrecision(5))).replace("−", "-")}`);
    history.replaceState(null, "", `#${known.join("&")}`);
  };
  let knee = null;
  const move = (changed) => {
    const own = made.pose, carry = find("[data-do=carry]");
    if (changed === "superior") carry.checked = false;
    if (changed === "load") carry.checked = true;
    const middle = path(own.flexion.value);
    let pose = Float64Array.from([own.flexion.value, ...middle.map((value, k) => value + own[POSE[k + 1][0]].value)]);
    if (carry.checked && own.load.value > 0) {
      pose = knee.carrying(pose, own.load.value) ?? pose;
      own.superior.value = pose[4] - middle[3];
    }
    const answer = knee.loads(pose);
    if (!carry.checked) own.load.value = knee.axial(answer);
    told(answer);
    if (changed) show(pose, answer);
  };

  // ---- gait ---------------------------------------------------------------------------------------
  const CHARTS = [
    ["AP position [mm]", ({ poses }) => [poses.map((pose) => 1e3 * pose[3])]],
    ["internal rotation [°]", ({ poses }) => [poses.map((pose) => pose[2] / DEGREE)]],
    ["axial force [N]", ({ loads }) => SIDES.map((_, k) => loads.map((own) => own[12 * k + 1]))],
    ["peak pressure [MPa]", ({ loads }) => SIDES.map((_, k) => loads.map((own) => 1e-6 * own[12 * k + 7]))],
  ];
  const rowsOf = (flat, width) => Array.from({ length: flat.length / width }, (_, k) => flat.subarray(width * k, width * (k + 1)));
  const WIDE = 340, TALL = 170, LEFT = 44, FOOT = 28;
  const chart = (label, curves) => {
    const values = curves.flatMap(({ y }) => y).filter(Number.isFinite);
    const [low, high] = [Math.min(...values), Math.max(...values)], room = 0.06 * (high - low || 1);
    const px = (x) => LEFT + (x / 100) * (WIDE - LEFT - 18), py = (y) => TALL - FOOT - ((y - low + room) / (high - low + 2 * room)) * (TALL - FOOT - 18);
    const area = svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, role: "img", "aria-label": `${label} over the gait cycle` });
    for (const value of ticks(low, high, 5)) {
      area.append(svg("path", { d: `M${LEFT} ${py(value)}H${WIDE - 18}`, stroke: "#ddd" }), svg("text", { x: LEFT - 5, y: py(value) + 4, "text-anchor": "end" }, short(value)));
    }
    for (const value of [0, 25, 50, 75, 100]) area.append(svg("text", { x: px(value), y: TALL - 12, "text-anchor": "middle" }, `${value} %`));
    area.append(svg("text", { x: LEFT, y: 12 }, label));
    for (const { y, colour, width } of curves) {
      const d = Array.from(y, (value, k) => `${k ? "L" : "M"}${px(data.percent[k]).toFixed(1)} ${py(value).toFixed(1)}`).join("");
      area.append(svg("path", { d, fill: "none", stroke: colour, "stroke-width": width }));
    }
    return area;
  };
  let nominal = null, latest = null, waiting = null, busy = false, timer = null;
  const drawn = ({ ended, poses, loads, outside, ms }) => {
    const state = find(".cycle-state");
    if (ended) { state.textContent = `The cycle with these inputs ends early: ${ended}.`; return; }
    latest = { poses: rowsOf(poses, 6), loads: rowsOf(loads, 12 * SIDES.length) };
    nominal ??= latest;
    state.textContent = outside ? `${outside} of ${data.count} instants are outside the trained domain.` : `Simulated in ${digits(ms)} ms.`;
    find(".live-charts").replaceChildren(...CHARTS.map(([label, of]) => chart(label, [
      ...of(nominal).map((y) => ({ y, colour: "#aaa", width: 3 })),
      ...of(latest).map((y, k) => ({ y, colour: COLOURS[k], width: 1.6 }))])));
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
    waiting = { factors, restraints: { 3: own.ap_spring, 2: own.rotation_spring }, alignment: [0, own.adduction, own.rotation, own.anterior, 0, 0] };
    next();
  };
  const stop = () => { clearInterval(timer); timer = null; find("[data-do=walk]").textContent = "▶ Play"; };
  find("[data-do=walk]").addEventListener("click", (event) => {
    if (timer !== null || !latest) { stop(); return; }
    event.target.textContent = "❚❚ Pause";
    let instant = 0;
    timer = setInterval(() => {
      const pose = latest.poses[instant];
      show(pose, { loads: SIDES.map((_, k) => latest.loads[instant].subarray(12 * k, 12 * k + 12)) });
      instant = (instant + 1) % data.count;
    }, 4000 / data.count);
  });
  find("[data-do=nominal]").addEventListener("click", () => {
    for (const own of Object.values(made.gait)) own.value = own.first;
    walk();
  });

  // ---- begin --------------------------------------------------------------------------------------
  place.addEventListener("input", ({ target }) => {
    const { group, name } = target.dataset;
    if (group) made[group][name].tell();
    if (group === "gait") { walk(); return; }
    stop();
    move(name ?? "carry");
    keep();
  });
  (async () => {
    knee = await new Function(`${source}; return liveKnee;`)()(data);
    worker.postMessage(data);
    made.pose.flexion.value = data.begin[0];
    made.pose.load.value = Math.min(1000, most);
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const [name, value] of kept) if (made.pose[name]) { made.pose[name].input.value = value; made.pose[name].tell(); }
    place.hidden = false;
    place.parentElement.querySelector(".live-none").hidden = true;
    if (kept.has("flexion")) place.scrollIntoView();
    if (kept.has("superior") && !kept.has("load")) find("[data-do=carry]").checked = false;
    move(null);
    walk();
    place.dataset.ready = "";
  })();
})();
