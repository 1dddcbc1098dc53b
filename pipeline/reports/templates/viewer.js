"use strict";
// The knee in 3-D with the pressure on the tibial side: WebGL 2, no library, nothing fetched.
// Returns the function that shows a pose of another section, or null without WebGL 2.
const kneeViewer = (() => {
  const place = document.getElementById("viewer");
  const find = (name) => place.querySelector(name);
  const canvas = find("canvas");
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
  if (!gl) return null;
  const data = JSON.parse(document.getElementById("viewer-data").textContent);
  const SIDES = ["medial", "lateral"], WHOLE = 32767;
  const { svg, digits, short } = plotParts;

  // ---- surfaces and field -----------------------------------------------------------------------
  const as = (Type, text) => new Type(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const surface = ({ vertices, faces, index }) => ({
    points: as(Float32Array, vertices), faces: Uint32Array.from(as(index === "uint16" ? Uint16Array : Uint32Array, faces)) });
  const tibia = surface(data.tibia), femur = surface(data.femur), walls = { points: as(Float32Array, data.walls) };
  walls.faces = Uint32Array.from({ length: walls.points.length / 3 }, (_, k) => k);
  const side = as(Uint8Array, data.side), active = as(Uint32Array, data.active), colours = as(Uint8Array, data.colours);
  const poses = as(Float32Array, data.pose), values = as(Int16Array, data.values);
  const corner = ({ points }, k) => points.subarray(3 * k, 3 * k + 3);
  const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  // Normals of the triangles, as long as twice their areas.
  const normalsOf = (part) => Array.from({ length: part.faces.length / 3 }, (_, f) => {
    const [a, b, c] = [0, 1, 2].map((k) => corner(part, part.faces[3 * f + k]));
    return cross(minus(b, a), minus(c, a));
  });
  // Compartment of each vertex: that of its last triangle.
  const sideOf = new Uint8Array(tibia.points.length / 3);
  tibia.faces.forEach((vertex, k) => { sideOf[vertex] = side[Math.floor(k / 3)]; });

  // The field that is shown, as parts of the largest pressure in 16 bits, negative out of contact.
  const own = new Int16Array(sideOf.length).fill(-WHOLE), toMPa = data.peak_MPa / WHOLE;
  const take = (frame) => active.forEach((vertex, k) => { own[vertex] = values[active.length * frame + k]; });
  // Largest pressure of each compartment [MPa] and its place; null without contact.
  const peaksOf = () => SIDES.map((_, k) => {
    let best = -1;
    own.forEach((value, vertex) => { if (value > 0 && sideOf[vertex] === k && !(value <= own[best])) best = vertex; });
    return best < 0 ? null : { MPa: own[best] * toMPa, place: corner(tibia, best) };
  });

  // ---- graphics card ----------------------------------------------------------------------------
  const VERTEX = `#version 300 es
    in vec3 point; in vec3 normal; in float level;
    uniform mat3 turn; uniform vec3 shift; uniform mat3 eye; uniform vec3 middle; uniform vec3 scale; uniform vec2 moved;
    centroid out float shade; out vec3 facing;
    void main() {
      vec3 seen = eye * (turn * point + shift - middle);
      gl_Position = vec4(seen * scale + vec3(moved, 0.0), 1.0);
      facing = eye * (turn * normal);
      shade = level;
    }`;
  const FRAGMENT = `#version 300 es
    precision highp float;
    // Not beyond the triangle, where the field would be extrapolated.
    centroid in float shade; in vec3 facing;
    // Top and step of the colours as parts of the largest pressure.
    uniform vec2 levels; uniform float sharp; uniform vec4 base; uniform float rim; uniform sampler2D colours;
    out vec4 colour;
    float line(float away, float wide) { return 1.0 - smoothstep(wide - 0.6, wide + 0.6, away / sharp); }
    void main() {
      vec3 n = normalize(facing);
      float lit = 0.62 + 0.42 * abs(dot(n, normalize(vec3(-0.35, 0.65, 0.67))));
      // Of what is seen through, the rim is densest, as of glass.
      colour = vec4(base.rgb * lit, base.a + rim * pow(1.0 - abs(n.z), 2.0));
      float width = max(fwidth(shade), 1e-6);
      if (shade <= 0.0) return;
      // Pressure is not shaded, so that its colour is that of the scale.
      float at = (floor(shade / levels.y) + 0.5) * levels.y / levels.x;
      vec3 told = texture(colours, vec2((at * 255.0 + 0.5) / 256.0, 0.5)).rgb;
      colour = vec4(mix(told, vec3(0.1), line(shade / width, 1.2)), 1.0);
    }`;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  const places = {};
  const where = (name) => { places[name] ??= gl.getUniformLocation(program, name); return places[name]; };
  const attribute = (name, values, size, kind) => {
    const buffer = gl.createBuffer(), at = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, kind, kind === gl.SHORT, 0, 0);
    return buffer;
  };
  const load = (part, levels) => {
    const smooth = new Float32Array(part.points.length);
    normalsOf(part).forEach((normal, f) => {
      for (let k = 0; k < 9; k += 1) smooth[3 * part.faces[3 * f + Math.floor(k / 3)] + (k % 3)] += normal[k % 3];
    });
    part.state = gl.createVertexArray();
    gl.bindVertexArray(part.state);
    attribute("point", part.points, 3, gl.FLOAT);
    attribute("normal", smooth, 3, gl.FLOAT);
    if (levels) part.levels = attribute("level", levels, 1, gl.SHORT);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, part.faces, gl.STATIC_DRAW);
  };
  load(tibia, own);
  load(walls);
  load(femur);
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, colours);
  for (const name of ["MIN_FILTER", "MAG_FILTER"]) gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_${name}`], gl.NEAREST);
  gl.enable(gl.DEPTH_TEST);
  gl.depthFunc(gl.LEQUAL);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  gl.clearColor(1, 1, 1, 1);
  const STILL = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
  const paint = (part, base, pose = STILL, rim = 0) => {
    gl.uniformMatrix3fv(where("turn"), true, pose.slice(0, 9));
    gl.uniform3fv(where("shift"), pose.slice(9, 12));
    gl.uniform4fv(where("base"), base);
    gl.uniform1f(where("rim"), rim);
    gl.bindVertexArray(part.state);
    gl.drawElements(gl.TRIANGLES, part.faces.length, gl.UNSIGNED_INT, 0);
  };

  // ---- camera -----------------------------------------------------------------------------------
  const range = [0, 1, 2].map((axis) => tibia.points.filter((_, k) => k % 3 === axis)
    .reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]));
  const span = Math.hypot(...range.map(([low, high]) => high - low));
  const middle = range.map(([low, high]) => 0.5 * (low + high));
  middle[1] += 0.13 * span;
  // Azimuth 0 looks from the lateral side, 90° from the front [rad].
  const VIEWS = { oblique: [0.75, 0.7], above: [-Math.PI / 2, Math.PI / 2], front: [Math.PI / 2, 0.12], side: [0, 0.12] };
  const now = { frame: 0, femur: "clear", view: "oblique", zoom: 1, moved: [0, 0], drag: "turn" };
  const axes = () => {
    const [ca, sa, ce, se] = [Math.cos(now.turn), Math.sin(now.turn), Math.cos(now.raise), Math.sin(now.raise)];
    // From above the lateral side lies to the right, as in the maps.
    return [[ca, 0, -sa], [-se * sa, ce, -se * ca], [ce * sa, se, ce * ca]];
  };
  const scales = () => {
    const size = (1.9 * now.zoom) / span, wide = canvas.width / canvas.height;
    return wide > 1 ? [size / wide, size] : [size, size * wide];
  };
  const posed = () => now.live?.pose ?? poses.subarray(12 * now.frame, 12 * now.frame + 12);
  // A point, right, up and towards the viewer [mm].
  const seen = (p, m = STILL, view = axes()) => {
    const moved = [0, 3, 6].map((k) => m[k] * p[0] + m[k + 1] * p[1] + m[k + 2] * p[2] + m[9 + k / 3]);
    return view.map((axis) => dot(axis, minus(moved, middle)));
  };

  // ---- drawing ----------------------------------------------------------------------------------
  let peaks = [null, null], waiting = false;
  const tip = find(".tip");
  const draw = () => {
    const sharp = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((n) => Math.round(n * sharp));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.uniformMatrix3fv(where("eye"), true, axes().flat());
    gl.uniform3fv(where("middle"), middle);
    gl.uniform3fv(where("scale"), [...scales(), -0.2 / span]);
    gl.uniform2fv(where("moved"), now.moved);
    gl.uniform2fv(where("levels"), [data.top_MPa, data.step_MPa].map((p) => p / data.peak_MPa));
    gl.uniform1f(where("sharp"), sharp);
    paint(tibia, [0.96, 0.93, 0.84, 1]);
    paint(walls, [0.9, 0.87, 0.78, 1]);
    if (now.femur === "solid") paint(femur, [0.72, 0.76, 0.82, 1], posed());
    if (now.femur === "clear") {
      // Depth first, so that of the femur only what is nearest is seen, once.
      gl.colorMask(false, false, false, false);
      paint(femur, [0, 0, 0, 0], posed());
      gl.colorMask(true, true, true, true);
      gl.enable(gl.BLEND);
      paint(femur, [0.33, 0.42, 0.55, 0.04], posed(), 0.6);
      gl.disable(gl.BLEND);
    }
    // Words over the picture: the largest pressures where they act, and the axes.
    SIDES.forEach((name, k) => {
      put(find(`.mark[data-side=${name}]`), peaks[k]?.place);
      put(find(`.centre[data-side=${name}]`), (now.live?.centres ?? data.centre_mm[now.frame])[k]);
    });
    const [right, up] = axes();
    ["x", "y", "z"].forEach((name, axis) => {
      const letter = find(`.triad [data-axis=${name}]`), [x, y] = [22 * right[axis], -22 * up[axis]];
      letter.setAttribute("transform", `translate(${x} ${y})`);
      find(`.triad [data-line=${name}]`).setAttribute("d", `M0 0L${0.62 * x} ${0.62 * y}`);
      letter.style.opacity = Math.hypot(x, y) < 5 ? 0.25 : 1;
    });
  };
  const put = (element, point) => {
    element.hidden = !point || Array.from(point).includes(null);
    if (element.hidden) return;
    const [x, y] = seen(point), [sx, sy] = scales();
    element.style.left = `${50 + 50 * (sx * x + now.moved[0])}%`;
    element.style.top = `${50 - 50 * (sy * y + now.moved[1])}%`;
  };
  const redraw = () => {
    tip.hidden = true;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  // The colour scale, drawn as the shader colours.
  const bands = Math.round(data.top_MPa / data.step_MPa), scale = find(".colourbar");
  const drawScale = () => {
    const tall = scale.clientHeight || 390, y = (MPa) => tall - 10 - ((tall - 30) * MPa) / data.top_MPa;
    scale.setAttribute("viewBox", `0 0 66 ${tall}`);
    scale.replaceChildren(svg("text", { x: 0, y: 12, class: "unit" }, "MPa"));
    for (let k = 0; k <= bands; k += 1) {
      const low = k * data.step_MPa, shade = 3 * Math.floor((255 * (k + 0.5)) / bands + 0.5);
      const fill = `rgb(${colours.slice(shade, shade + 3).join()})`;
      if (k < bands) scale.append(svg("rect", { x: 4, y: y(low + data.step_MPa), width: 18, height: y(low) - y(low + data.step_MPa), fill, stroke: "#444", "stroke-width": 0.6 }));
      scale.append(svg("text", { x: 29, y: y(low) + 4 }, short(low)));
    }
  };

  // ---- what is shown ----------------------------------------------------------------------------
  const tellField = () => {
    gl.bindBuffer(gl.ARRAY_BUFFER, tibia.levels);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, own);
    peaks = peaksOf();
    SIDES.forEach((name, k) => { find(`.mark[data-side=${name}]`).textContent = `${digits(peaks[k]?.MPa ?? null)} MPa`; });
    redraw();
  };
  const slider = find("[data-do=instant]"), chart = document.querySelector("#pressure figure.chart");
  const show = () => {
    now.live = null;
    find(".readout").hidden = false;
    take(now.frame);
    tellField();
    for (const [key, found] of Object.entries(data.beside)) {
      SIDES.forEach((word, k) => { find(`[data-${key}=${word}]`).textContent = digits(found[k][now.frame]); });
    }
    const text = `${short(Number(data.percent[now.frame].toFixed(1)))} % of the gait cycle, flexion ${short(Math.round(data.flexion_deg[now.frame]))}°`;
    find(".instant").textContent = text;
    slider.value = now.frame;
    slider.setAttribute("aria-valuetext", `${text}, ${SIDES.map((word, k) => `${word} ${peaks[k] ? `${digits(peaks[k].MPa)} MPa` : "no contact"}`).join(", ")}`);
    chart.pin(now.frame);
    place.dataset.frame = now.frame;
  };
  const go = (frame) => { now.frame = frame; show(); };

  // ---- controls ---------------------------------------------------------------------------------
  const stop = plotParts.player(find("[data-do=play]"), () => go((now.frame + 1) % data.percent.length), 4000 / data.percent.length);
  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  chart.addEventListener("pick", ({ detail }) => { stop(); go(detail); });
  for (const choice of place.querySelectorAll("input[type=radio]")) {
    choice.addEventListener("change", () => { now.femur = choice.value; redraw(); });
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
    now.moved = [now.moved[0] + (2 * across) / canvas.clientWidth, now.moved[1] - (2 * down) / canvas.clientHeight];
    redraw();
  };
  const reset = () => {
    [now.turn, now.raise] = VIEWS[now.view];
    Object.assign(now, { zoom: 1, moved: [0, 0] });
    redraw();
  };
  const mover = find("[data-drag=move]");
  find(".onpicture").addEventListener("click", ({ target }) => {
    if (target.dataset.view) now.view = target.dataset.view;
    if (target.dataset.zoom) zoom(Number(target.dataset.zoom));
    else if (target === mover) {
      now.drag = now.drag === "move" ? "turn" : "move";
      mover.setAttribute("aria-pressed", now.drag === "move");
    } else if (target.matches("button")) reset();
  });

  // ---- value under the pointer ------------------------------------------------------------------
  const inPicture = ({ clientX, clientY }) => {
    const box = canvas.getBoundingClientRect();
    return [(2 * (clientX - box.left)) / box.width - 1, 1 - (2 * (clientY - box.top)) / box.height];
  };
  // What lies under a point of the picture: weights of the corners of the nearest triangle.
  const under = (part, pose, [x, y]) => {
    const view = axes(), points = Array.from({ length: part.points.length / 3 }, (_, k) => seen(corner(part, k), pose, view));
    let best = null;
    for (let f = 0; f < part.faces.length; f += 3) {
      const corners = part.faces.subarray(f, f + 3), [a, b, c] = Array.from(corners, (k) => points[k]);
      const [bx, by, cx, cy, px, py] = [b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1], x - a[0], y - a[1]];
      const det = bx * cy - by * cx;
      const [v, w] = [(px * cy - py * cx) / det, (bx * py - by * px) / det];
      if (Math.abs(det) < 1e-12 || v < 0 || w < 0 || v + w > 1) continue;
      const depth = (1 - v - w) * a[2] + v * b[2] + w * c[2];
      if (!best || depth > best.depth) best = { depth, corners, weights: [1 - v - w, v, w] };
    }
    return best;
  };
  const way = (value, [ahead, behind]) => `${Math.abs(value).toFixed(1)} mm ${value < 0 ? behind : ahead}`;
  const tell = (event) => {
    const [x, y] = inPicture(event), [sx, sy] = scales();
    const point = [(x - now.moved[0]) / sx, (y - now.moved[1]) / sy];
    const hit = under(tibia, STILL, point);
    const covered = hit && now.femur === "solid" && under(femur, posed(), point);
    tip.hidden = !hit || (covered && covered.depth > hit.depth);
    if (tip.hidden) return;
    const mixed = (of) => hit.weights.reduce((sum, weight, k) => sum + weight * of(hit.corners[k]), 0);
    const MPa = Math.max(0, mixed((k) => own[k])) * toMPa;
    const at = [0, 1, 2].map((axis) => mixed((k) => tibia.points[3 * k + axis]));
    tip.textContent = `${MPa > 0 ? `${digits(MPa)} MPa` : "no contact"}\n${way(at[0], ["anterior", "posterior"])}, ${way(at[2], ["lateral", "medial"])}`;
    Object.assign(tip.dataset, { mpa: MPa, x: at[0], y: at[1], z: at[2] });
    Object.assign(tip.style, { left: `${50 + 50 * x}%`, top: `${50 - 50 * y}%` });
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
    const before = held.get(event.pointerId), after = [event.clientX, event.clientY];
    if (!before) { tell(event); return; }
    const [dx, dy] = [after[0] - before[0], after[1] - before[1]];
    if (still && Math.hypot(dx, dy) < 4) return;
    still = false;
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
  new ResizeObserver(() => { drawScale(); redraw(); }).observe(canvas);
  canvas.addEventListener("webglcontextlost", () => { place.hidden = true; });

  // ---- begin: where the pressure is largest -----------------------------------------------------
  place.hidden = false;
  lineChart(chart);
  slider.max = data.percent.length - 1;
  reset();
  const first = data.beside.peak, highest = data.percent.map((_, k) => Math.max(first[0][k] || 0, first[1][k] || 0));
  go(highest.indexOf(Math.max(...highest)));
  // A pose (rotation by rows, position [mm]) and centres of pressure that another section computes,
  // with pressures of the triangles [Pa], or null.
  return (pose, centres, pressures) => {
    stop();
    now.live = { pose, centres };
    own.fill(-WHOLE);
    const sums = new Float64Array(own.length), touching = new Uint16Array(own.length), all = new Uint16Array(own.length);
    tibia.faces.forEach((vertex, k) => {
      const pressure = pressures?.[Math.floor(k / 3)] ?? 0;
      all[vertex] += 1;
      sums[vertex] += pressure;
      touching[vertex] += pressure > 0;
    });
    // Triangles out of contact count as the negative mean of the others, so that the edge is cut.
    sums.forEach((sum, vertex) => {
      const mean = sum / (touching[vertex] || 1), value = (mean * (2 * touching[vertex] - all[vertex])) / all[vertex];
      if (touching[vertex]) own[vertex] = Math.max(-WHOLE, Math.min(WHOLE, (1e-6 * value) / toMPa));
    });
    tellField();
    find(".readout").hidden = true;
    find(".instant").textContent = `the pose of “Move the knee”${pressures ? "" : ", without pressures"}`;
  };
})();
