"use strict";
// The knee through the gait cycle in 3-D: WebGL 2, no library, nothing fetched.
(() => {
  const place = document.getElementById("viewer");
  const canvas = place.querySelector("canvas");
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
  // Without WebGL 2 the pictures below stay as they are.
  if (!gl) return;

  const data = JSON.parse(document.getElementById("viewer-data").textContent);
  const find = (name) => place.querySelector(name);
  const SIDES = ["medial", "lateral"];
  const { digits, short } = plotParts;

  const scene = kneeScene(gl, data);
  if (!scene) return;
  const { where, plateau, parts, models, paint, tint } = scene;
  const field = pressureField(data, scene);
  const scale = colourScale(find(".colourbar"), data, scene.colours);

  // ---- camera -------------------------------------------------------------------------------
  const range = [0, 1, 2].map((axis) => {
    let [low, high] = [Infinity, -Infinity];
    for (let k = axis; k < plateau.length; k += 3) {
      low = Math.min(low, plateau[k]);
      high = Math.max(high, plateau[k]);
    }
    return [low, high];
  });
  const span = Math.hypot(...range.map(([low, high]) => high - low));
  const middle = range.map(([low, high]) => 0.5 * (low + high));
  middle[1] += 0.13 * span;
  // Azimuth 0 looks from the lateral side, 90° from the front [rad].
  const VIEWS = { oblique: [0.75, 0.7], above: [-Math.PI / 2, Math.PI / 2], front: [Math.PI / 2, 0.12], side: [0, 0.12] };
  const now = {
    frame: 0, model: Object.keys(models)[0], femur: "clear", largest: false, view: "oblique",
    zoom: 1, moved: [0, 0], bands: true, lines: true, limit: null, grey: 0, drag: "turn",
  };

  const axes = () => {
    const [ca, sa, ce, se] = [Math.cos(now.turn), Math.sin(now.turn), Math.cos(now.raise), Math.sin(now.raise)];
    // From above the lateral side lies to the right, as in the maps.
    return { right: [ca, 0, -sa], up: [-se * sa, ce, -se * ca], out: [ce * sa, se, ce * ca] };
  };
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const scales = () => {
    const size = (1.9 * now.zoom) / span;
    const wide = canvas.width / canvas.height;
    return wide > 1 ? [size / wide, size] : [size, size * wide];
  };
  // Points of a surface, right, up and towards the viewer [mm].
  const seenFrom = (points, pose) => {
    const { right, up, out } = axes();
    const found = new Float64Array(points.length);
    for (let k = 0; k < points.length; k += 3) {
      let p = [points[k], points[k + 1], points[k + 2]];
      if (pose) p = [0, 1, 2].map((row) => dot(pose.subarray(3 * row, 3 * row + 3), p) + pose[9 + row]);
      const from = [p[0] - middle[0], p[1] - middle[1], p[2] - middle[2]];
      [found[k], found[k + 1], found[k + 2]] = [dot(right, from), dot(up, from), dot(out, from)];
    }
    return found;
  };

  // ---- drawing ------------------------------------------------------------------------------
  const posed = () => now.live?.pose ?? models[now.model].pose.subarray(12 * now.frame, 12 * now.frame + 12);
  const draw = () => {
    const sharp = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((n) => Math.round(n * sharp));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const { right, up, out } = axes();
    gl.uniformMatrix3fv(where.eye, true, [...right, ...up, ...out]);
    gl.uniform3fv(where.middle, middle);
    gl.uniform3fv(where.scale, [...scales(), -0.2 / span]);
    gl.uniform2fv(where.moved, now.moved);
    gl.uniform4fv(where.levels, [data.top_MPa, data.step_MPa, now.limit ?? -1, now.grey].map((p) => p / data.peak_MPa));
    gl.uniform1i(where.bands, now.bands);
    gl.uniform1i(where.lines, now.lines);
    gl.uniform1f(where.sharp, sharp);
    paint(parts.tibia, [0.96, 0.93, 0.84, 1]);
    paint(parts.walls, [0.9, 0.87, 0.78, 1]);
    if (now.femur === "solid") paint(parts.femur, [0.72, 0.76, 0.82, 1], posed());
    if (now.femur === "clear") {
      // Depth first, so that of the femur only what is nearest is seen, once.
      gl.colorMask(false, false, false, false);
      paint(parts.femur, [0, 0, 0, 0], posed());
      gl.colorMask(true, true, true, true);
      gl.enable(gl.BLEND);
      paint(parts.femur, [0.33, 0.42, 0.55, 0.04], posed(), 0.6);
      gl.disable(gl.BLEND);
    }
    mark();
  };
  let waiting = false;
  const redraw = () => {
    tip.hidden = true;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  // Words over the picture: the largest pressures where they act, and the axes.
  const put = (element, point) => {
    const { right, up } = axes();
    const [sx, sy] = scales();
    const from = point.map((value, axis) => value - middle[axis]);
    element.style.left = `${50 + 50 * (sx * dot(right, from) + now.moved[0])}%`;
    element.style.top = `${50 - 50 * (sy * dot(up, from) + now.moved[1])}%`;
  };
  let peaks = [null, null];
  const mark = () => {
    SIDES.forEach((side, k) => {
      const label = find(`.mark[data-side=${side}]`);
      label.hidden = !peaks[k];
      if (peaks[k]) put(label, peaks[k].place);
      const cross = find(`.centre[data-side=${side}]`);
      const centre = now.live ? now.live.centres[k] : models[now.model].centre_mm[now.frame][k];
      cross.hidden = !centre || (now.largest && !now.live) || centre.includes(null);
      if (!cross.hidden) put(cross, centre);
    });
    const { right, up } = axes();
    ["x", "y", "z"].forEach((name, axis) => {
      const line = find(`.triad [data-axis=${name}]`);
      const [x, y] = [22 * right[axis], -22 * up[axis]];
      line.setAttribute("transform", `translate(${x} ${y})`);
      find(`.triad [data-line=${name}]`).setAttribute("d", `M0 0L${0.62 * x} ${0.62 * y}`);
      line.style.opacity = Math.hypot(x, y) < 5 ? 0.25 : 1;
    });
  };

  // ---- what is shown ------------------------------------------------------------------------
  const last = data.percent.length - 1;
  const show = () => {
    now.live = null;
    find(".readout").hidden = false;
    const model = models[now.model];
    tint(field.fieldAt(now.model, now.largest ? null : now.frame));
    peaks = field.peaks();
    const contact = field.areaAbove(0);
    const above = now.limit === null ? null : field.areaAbove(now.limit);
    find("tr.above").hidden = above === null;
    find("span.limit").textContent = short(now.limit ?? 0);
    SIDES.forEach((side, k) => {
      const largest = peaks[k] ? digits(peaks[k].MPa) : "–";
      find(`.mark[data-side=${side}]`).textContent = `${largest} MPa`;
      find(`[data-largest=${side}]`).textContent = largest;
      find(`[data-contact=${side}]`).textContent = digits(contact[k]);
      find(`[data-above=${side}]`).textContent = above ? digits(above[k]) : "";
      for (const [name, found] of Object.entries(models)) {
        find(`[data-peak=${name}-${side}]`).textContent = digits(found.peak_MPa[k][now.frame]);
        find(`[data-force=${name}-${side}]`).textContent = digits(found.force_N[k][now.frame]);
      }
    });
    const percent = `${short(Number(data.percent[now.frame].toFixed(1)))} %`;
    const flexion = `flexion ${Math.round(model.flexion_deg[now.frame])}°`.replace("-", "−");
    find(".instant").textContent = now.largest ? "largest over the gait cycle" : `${percent} of the gait cycle, ${flexion}`;
    place.querySelector("tbody.loads").hidden = now.largest;
    const spoken = SIDES.map((side, k) => `${side} ${peaks[k] ? `${digits(peaks[k].MPa)} MPa` : "no contact"}`);
    strip.show(now.frame, `${percent} of the gait cycle, ${flexion}, ${spoken.join(", ")}`);
    strip.limit(now.limit);
    scale.show({ bands: now.bands, lines: now.lines, limit: now.limit, grey: now.grey });
    place.dataset.frame = now.frame;
    place.dataset.model = now.model;
    redraw();
  };
  const go = (frame) => { now.frame = Math.max(0, Math.min(last, Math.round(frame))); show(); };

  // ---- controls -----------------------------------------------------------------------------
  const play = find("[data-do=play]");
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "▶ Play";
  };
  play.addEventListener("click", () => {
    if (timer !== null) { stop(); return; }
    play.textContent = "❚❚ Pause";
    timer = setInterval(() => go(now.frame < last ? now.frame + 1 : 0), 4000 / (last + 1));
  });
  const lines = Object.entries(models).flatMap(([name, model]) =>
    SIDES.map((side, k) => ({ name: `${name} ${side}`, values: model.peak_MPa[k] })));
  const highest = Math.max(data.top_MPa, ...lines.flatMap((line) => line.values));
  const strip = timeStrip(find(".strip"), {
    percent: data.percent, lines, most: highest,
    go: (frame) => { stop(); go(frame); },
    step: (count) => { stop(); go(now.frame + count); },
  });

  const CHOICES = {
    "viewer-model": (value) => { now.model = value; },
    "viewer-femur": (value) => { now.femur = value; },
    "viewer-shading": (value) => { now.bands = value === "bands"; },
    "viewer-shown": (value) => { now.largest = value === "largest"; },
  };
  for (const choice of place.querySelectorAll("input[type=radio]")) {
    choice.addEventListener("change", () => { CHOICES[choice.name](choice.value); show(); });
  }
  find("[data-do=lines]").addEventListener("change", (event) => { now.lines = event.target.checked; show(); });
  for (const box of place.querySelectorAll("[data-level]")) {
    box.addEventListener("input", () => {
      const value = box.value === "" ? null : Number(box.value);
      const valid = value === null || (Number.isFinite(value) && value >= 0);
      now[box.dataset.level] = valid ? value : null;
      if (now.grey === null) now.grey = 0;
      show();
    });
  }

  // Enlarge by a factor about a point of the picture, from -1 to 1 to the right and up.
  const zoom = (factor, [x, y] = [0, 0]) => {
    const before = now.zoom;
    now.zoom = Math.max(0.5, Math.min(20, now.zoom * factor));
    const grown = now.zoom / before;
    now.moved = [x - (x - now.moved[0]) * grown, y - (y - now.moved[1]) * grown];
    redraw();
  };
  const rotate = (across, along) => {
    now.turn -= across;
    now.raise = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, now.raise + along));
    redraw();
  };
  const move = (across, down) => {
    const box = canvas.getBoundingClientRect();
    now.moved = [now.moved[0] + (2 * across) / box.width, now.moved[1] - (2 * down) / box.height];
    redraw();
  };
  const reset = () => {
    [now.turn, now.raise] = VIEWS[now.view];
    Object.assign(now, { zoom: 1, moved: [0, 0] });
    redraw();
  };
  for (const button of place.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => { now.view = button.dataset.view; reset(); });
  }
  for (const button of place.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(Number(button.dataset.zoom)));
  }
  find("[data-do=reset]").addEventListener("click", reset);
  const mover = find("[data-drag=move]");
  mover.addEventListener("click", () => {
    now.drag = now.drag === "move" ? "turn" : "move";
    mover.setAttribute("aria-pressed", now.drag === "move");
  });

  // ---- value under the pointer --------------------------------------------------------------
  const tip = find(".tip");
  const inPicture = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height];
  };
  const way = (value, [ahead, behind]) => `${Math.abs(value).toFixed(1)} mm ${value < 0 ? behind : ahead}`;
  const tell = (event) => {
    const [x, y] = inPicture(event);
    const [sx, sy] = scales();
    const point = [(x - now.moved[0]) / sx, (y - now.moved[1]) / sy];
    const hit = field.under(seenFrom(plateau), scene.plateauFaces, point);
    const covered = hit && now.femur === "solid" && field.under(seenFrom(scene.bone, posed()), scene.boneFaces, point);
    tip.hidden = !hit || (covered && covered.depth > hit.depth);
    if (tip.hidden) return;
    const { MPa, place: at } = field.told(hit);
    tip.textContent = `${MPa > 0 ? `${digits(MPa)} MPa` : "no contact"}\n${way(at[0], ["anterior", "posterior"])}, ${way(at[2], ["lateral", "medial"])}`;
    Object.assign(tip.dataset, { mpa: MPa, x: at[0], y: at[1], z: at[2] });
    tip.style.left = `${50 + 50 * x}%`;
    tip.style.top = `${50 - 50 * y}%`;
    tip.classList.toggle("leftward", x > 0.2);
    tip.classList.toggle("below", y > 0.6);
  };

  // One pointer turns, or moves with Shift or another button; two pinch and move. On a touch screen a
  // finger up or down scrolls the page until the picture is tapped.
  const held = new Map();
  let still = true;
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, [event.clientX, event.clientY]);
    still = held.size === 1;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) { tell(event); return; }
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    if (still && Math.hypot(dx, dy) < 4) return;
    still = false;
    const after = [event.clientX, event.clientY];
    if (held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const apart = (point) => Math.max(Math.hypot(point[0] - other[0], point[1] - other[1]), 1);
      const [clientX, clientY] = [0, 1].map((k) => 0.5 * (after[k] + other[k]));
      zoom(apart(after) / apart(before), inPicture({ clientX, clientY }));
      move(0.5 * dx, 0.5 * dy);
    } else if (now.drag === "move" || event.shiftKey || event.buttons & 6) {
      move(dx, dy);
    } else {
      rotate(0.008 * dx, 0.008 * dy);
    }
    held.set(event.pointerId, after);
  });
  canvas.addEventListener("pointerup", (event) => { if (still) tell(event); });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
    canvas.addEventListener(name, (event) => held.delete(event.pointerId));
  }
  canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") tip.hidden = true; });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("dblclick", reset);
  canvas.addEventListener("wheel", (event) => {
    // The page scrolls over the picture until it is clicked on.
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-0.0015 * event.deltaY), inPicture(event));
  }, { passive: false });
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const KEYS = { "+": () => zoom(1.15), "-": () => zoom(1 / 1.15), Escape: reset };
  canvas.addEventListener("keydown", (event) => {
    const arrow = ARROWS[event.key];
    if (!arrow && !KEYS[event.key]) return;
    event.preventDefault();
    if (!arrow) KEYS[event.key]();
    else if (event.shiftKey) move(24 * arrow[0], -24 * arrow[1]);
    else rotate(0.1 * arrow[0], 0.1 * arrow[1]);
  });
  new ResizeObserver(redraw).observe(canvas);
  canvas.addEventListener("webglcontextlost", () => {
    place.hidden = true;
    place.parentElement.classList.remove("live");
  });

  // A pose that another section computes: without pressures, until an instant is chosen again.
  document.addEventListener("knee-live", ({ detail }) => {
    tint(new Float32Array(field.fieldAt(now.model, now.frame).length));
    [now.live, peaks] = [detail, [null, null]];
    find(".readout").hidden = true;
    find(".instant").textContent = "the pose of “Move the knee”, without pressures";
    redraw();
  });

  place.hidden = false;
  place.parentElement.classList.add("live");
  reset();
  // Begin where the pressure is largest.
  const first = models[now.model].peak_MPa;
  const sums = data.percent.map((_, k) => Math.max(first[0][k] || 0, first[1][k] || 0));
  go(sums.indexOf(Math.max(...sums)));
})();
