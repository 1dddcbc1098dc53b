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

  const scene = kneeScene(gl, data);
  if (!scene) return;
  const { where, plateau, parts, models, active, paint, tint } = scene;

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
  const now = { frame: 0, model: Object.keys(models)[0], femur: "clear", zoom: 1 };
  [now.turn, now.raise] = VIEWS.oblique;

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

  // ---- drawing ------------------------------------------------------------------------------
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
    const pose = models[now.model].pose.subarray(12 * now.frame, 12 * now.frame + 12);
    paint(parts.tibia, [0.96, 0.93, 0.84, 1]);
    paint(parts.walls, [0.9, 0.87, 0.78, 1]);
    if (now.femur === "solid") paint(parts.femur, [0.72, 0.76, 0.82, 1], pose);
    if (now.femur === "clear") {
      // Depth first, so that of the femur only what is nearest is seen, once.
      gl.colorMask(false, false, false, false);
      paint(parts.femur, [0, 0, 0, 0], pose);
      gl.colorMask(true, true, true, true);
      gl.enable(gl.BLEND);
      paint(parts.femur, [0.33, 0.42, 0.55, 0.1], pose, 0.55);
      gl.disable(gl.BLEND);
    }
    mark();
  };
  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  // Words over the picture: the peak pressures at the centres of pressure, and the axes.
  const put = (element, point) => {
    const { right, up } = axes();
    const [sx, sy] = scales();
    const from = point.map((value, axis) => value - middle[axis]);
    element.style.left = `${50 + 50 * sx * dot(right, from)}%`;
    element.style.top = `${50 - 50 * sy * dot(up, from)}%`;
  };
  const mark = () => {
    const model = models[now.model];
    SIDES.forEach((side, k) => {
      const label = find(`.mark[data-side=${side}]`);
      const centre = model.centre_mm[now.frame][k];
      label.hidden = centre.includes(null);
      if (!label.hidden) put(label, centre);
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
  const slider = find("input[type=range]");
  const digits = (value, unit) => (value === null ? "–" : `${value.toPrecision(3)} ${unit}`);
  const whole = (value, unit) => (value === null ? "–" : `${Math.round(value)} ${unit}`);
  const show = () => {
    const model = models[now.model];
    tint(model.levels.subarray(active.length * now.frame, active.length * (now.frame + 1)));
    const percent = `${Number(data.percent[now.frame].toFixed(1))} %`;
    slider.value = now.frame;
    slider.setAttribute("aria-valuetext", `${percent} of the gait cycle`);
    find(".instant").textContent = `${percent} of gait, flexion ${Math.round(model.flexion_deg[now.frame])}°`;
    for (const [name, found] of Object.entries(models)) {
      SIDES.forEach((side, k) => {
        find(`[data-peak=${name}-${side}]`).textContent = digits(found.peak_MPa[k][now.frame], "MPa");
        find(`[data-force=${name}-${side}]`).textContent = whole(found.force_N[k][now.frame], "N");
      });
    }
    SIDES.forEach((side, k) => {
      find(`.mark[data-side=${side}]`).textContent = digits(model.peak_MPa[k][now.frame], "MPa");
    });
    place.dataset.frame = now.frame;
    place.dataset.model = now.model;
    find(".cursor").setAttribute("transform", `translate(${data.percent[now.frame]} 0)`);
    redraw();
  };
  const last = data.percent.length - 1;
  const go = (frame) => { now.frame = Math.max(0, Math.min(last, Math.round(frame))); show(); };

  // The peaks over the cycle below the view, on which a click goes to an instant.
  const curve = find(".curve");
  const top = Math.max(...Object.values(models).flatMap((m) => m.peak_MPa.flat()), 1e-9);
  find(".top").textContent = digits(top, "MPa");
  for (const line of curve.querySelectorAll("[data-curve]")) {
    const [name, side] = line.dataset.curve.split("-");
    const values = models[name].peak_MPa[SIDES.indexOf(side)];
    const at = values.map((v, k) => `${data.percent[k].toFixed(2)} ${(100 - (96 * (v || 0)) / top).toFixed(2)}`);
    line.setAttribute("points", at.join(" "));
  }
  const pick = (event) => {
    const box = curve.getBoundingClientRect();
    const percent = (100 * (event.clientX - box.left)) / box.width;
    const gaps = data.percent.map((p) => Math.abs(p - percent));
    go(gaps.indexOf(Math.min(...gaps)));
  };
  curve.addEventListener("pointerdown", pick);
  curve.addEventListener("pointermove", (event) => { if (event.buttons) pick(event); });

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
  slider.max = last;
  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  for (const choice of place.querySelectorAll("input[type=radio]")) {
    choice.addEventListener("change", () => {
      now[choice.name === "viewer-model" ? "model" : "femur"] = choice.value;
      show();
    });
  }
  const zoom = (factor) => { now.zoom = Math.max(0.5, Math.min(8, now.zoom * factor)); redraw(); };
  const rotate = (across, along) => {
    now.turn -= across;
    now.raise = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, now.raise + along));
    redraw();
  };
  for (const button of place.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => {
      [now.turn, now.raise] = VIEWS[button.dataset.view];
      now.zoom = 1;
      redraw();
    });
  }
  for (const button of place.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(Number(button.dataset.zoom)));
  }

  // One pointer turns; two pinch and tilt. On a touch screen one finger up or down scrolls the page.
  const held = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, [event.clientX, event.clientY]);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const after = [event.clientX, event.clientY];
    if (held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const apart = (point) => Math.max(Math.hypot(point[0] - other[0], point[1] - other[1]), 1);
      zoom(apart(after) / apart(before));
    }
    rotate(0.008 * (after[0] - before[0]) / held.size, 0.008 * (after[1] - before[1]) / held.size);
    held.set(event.pointerId, after);
  });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
    canvas.addEventListener(name, (event) => held.delete(event.pointerId));
  }
  canvas.addEventListener("wheel", (event) => {
    // The page scrolls over the picture until it is clicked on.
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-0.0015 * event.deltaY));
  }, { passive: false });
  const KEYS = {
    ArrowLeft: () => rotate(-0.1, 0), ArrowRight: () => rotate(0.1, 0),
    ArrowUp: () => rotate(0, 0.1), ArrowDown: () => rotate(0, -0.1),
    "+": () => zoom(1.15), "-": () => zoom(1 / 1.15),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  new ResizeObserver(redraw).observe(canvas);
  canvas.addEventListener("webglcontextlost", () => {
    place.hidden = true;
    place.parentElement.classList.remove("live");
  });

  place.hidden = false;
  place.parentElement.classList.add("live");
  // Begin where the pressure is largest.
  const peaks = models[now.model].peak_MPa;
  const sums = data.percent.map((_, k) => Math.max(peaks[0][k] || 0, peaks[1][k] || 0));
  go(sums.indexOf(Math.max(...sums)));
})();
