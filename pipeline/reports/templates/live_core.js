"use strict";
// The surrogate and the knee simulator of a run, computed by the library in WebAssembly.
const liveKnee = async (data) => {
  const bytes = async (text) => {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const image = await bytes(data.image);
  const { instance } = await WebAssembly.instantiate(await bytes(data.wasm), {});
  const core = instance.exports;
  const { base, count, free, inertial, times } = data;
  const parts = data.compartments.length, n = free.length, size = n + inertial.length;

  // ---- memory: the image, then arrays of numbers -------------------------------------------------
  let end = Math.ceil((base + image.length) / 64) * 64;
  const place = (numbers) => {
    end += 8 * numbers;
    return end - 8 * numbers;
  };
  const at = Object.fromEntries(Object.entries({
    pose: 6, found: 55 * parts + 36, state: size, inputs: 10, rates: 10, force: 6, jacobian: 36, change: 6,
    wrench: 6, counts: 2, where: 2, states: count * size, values: 10 * count, slopes: 10 * count,
    poses: 6 * count, loads: 12 * parts * count, variables: 7 * parts * count,
  }).map(([name, numbers]) => [name, place(numbers)]));
  const missing = end - core.memory.buffer.byteLength;
  if (missing > 0) core.memory.grow(Math.ceil(missing / 65536));
  new Uint8Array(core.memory.buffer).set(image, base);
  const numbers = (address, length) => new Float64Array(core.memory.buffer, address, length);
  const view = Object.fromEntries(["pose", "state", "inputs", "rates", "force", "jacobian", "change", "wrench"].map(
    (name) => [name, numbers(at[name], { state: size, inputs: 10, rates: 10, jacobian: 36 }[name] ?? 6)]));
  const field = (name, length) => numbers(data.problem + data.fields[name], length);
  const reference = field("reference", 6), offset = field("offset", 6), stiffness = field("stiffness", 6);
  const pieces = numbers(data.pieces, 40 * data.knots);
  const nominal = { reference: reference.slice(), stiffness: stiffness.slice(), pieces: pieces.slice() };

  // ---- loads at a pose ----------------------------------------------------------------------------
  const found = numbers(at.found, 55 * parts + 36);
  // Loads of each compartment (12) [SI], the derivatives of the whole wrench (6 x 6), and variables (7).
  const loads = (pose) => {
    view.pose.set(pose);
    const outside = core.fill_one(data.parts, parts, at.pose, at.found, data.scratch) !== 0;
    const row = (first, length) => found.subarray(first, first + length);
    return {
      outside,
      loads: data.compartments.map((_, k) => row(12 * k, 12)),
      total: row(12 * parts, 36),
      variables: data.compartments.map((_, k) => row(12 * parts + 36 + 7 * k, 7)),
    };
  };
  // How the pose of an answer leaves the trained domain of a compartment: kind, text, value.
  const flags = (answer, k) => {
    const x = answer.variables[k], half = data.half[k], load = answer.loads[k][1];
    const beyond = (value) => !(Math.abs(value) <= 1 + data.tolerance);
    return Array.from(x.entries()).filter(([, value]) => beyond(value)).map(([place, value]) => {
      let kind = data.kinds[place], found = (Math.abs(value) - 1) * half[place] * (place < 3 ? 180 / Math.PI : 1e3);
      if (place === 5 && value < -1) [kind, found] = ["outside_superior", -1e3 * data.farthest * (1 + value)];
      else if (place === 5) found = load - data.load[k];
      else if (place === 6) found = value;
      return { kind, value: found, text: data.words[kind].replace("{}", Number(found.toPrecision(3))) };
    });
  };
  const axial = (answer) => answer.loads.reduce((sum, own) => sum + own[1], 0);

  // The pose at which the knee carries an axial force [N], all else as it is; null if none does.
  const carrying = (pose, load) => {
    const trial = Float64Array.from(pose);
    let [low, high] = [-Infinity, Infinity]; // heights with more and with less load
    for (let k = 0; k < 200; k += 1) {
      const answer = loads(trial), miss = axial(answer) - load;
      if (Math.abs(miss) <= 1e-9 * load) return trial;
      if (miss > 0) low = trial[4];
      else high = trial[4];
      const slope = answer.total[10], step = slope < 0 ? -miss / slope : -2e-4;
      let next = trial[4] + Math.max(-5e-4, Math.min(5e-4, step));
      if (next <= low || next >= high) next = 0.5 * (low + high);
      if (!Number.isFinite(next) || Math.abs(next - pose[4]) > 0.05) return null;
      if (next === trial[4]) return trial;
      trial[4] = next;
    }
    return null;
  };

  // ---- gait cycle ---------------------------------------------------------------------------------
  // Solution of a (m x m) x = b, rows of the matrix after one another; 0 along what nothing holds.
  const solved = (matrix, right) => {
    const m = right.length, a = Float64Array.from(matrix), x = Float64Array.from(right);
    for (let k = 0; k < m; k += 1) {
      let pivot = k;
      for (let i = k; i < m; i += 1) if (Math.abs(a[m * i + k]) > Math.abs(a[m * pivot + k])) pivot = i;
      for (let j = 0; j < m; j += 1) [a[m * k + j], a[m * pivot + j]] = [a[m * pivot + j], a[m * k + j]];
      [x[k], x[pivot]] = [x[pivot], x[k]];
      for (let i = k + 1; i < m; i += 1) {
        const factor = a[m * k + k] ? a[m * i + k] / a[m * k + k] : 0;
        for (let j = k; j < m; j += 1) a[m * i + j] -= factor * a[m * k + j];
        x[i] -= factor * x[k];
      }
    }
    for (let k = m - 1; k >= 0; k -= 1) {
      for (let j = k + 1; j < m; j += 1) x[k] -= a[m * k + j] * x[j];
      x[k] = a[m * k + k] ? x[k] / a[m * k + k] : 0;
    }
    return x;
  };
  // Forces and derivatives of the free coordinates at the beginning, for their displacements.
  const balance = (displacements) => {
    view.state.fill(0);
    view.state.set(displacements);
    core.pose_at(data.problem, 0, at.state, at.pose);
    const pose = view.pose.slice();
    const answer = loads(pose.map((value, k) => value + offset[k]));
    view.wrench.fill(0);
    for (const own of answer.loads) for (let k = 0; k < 6; k += 1) view.wrench[k] += own[k];
    view.pose.set(pose);
    core.forces_at(data.problem, at.pose, at.inputs + 48, at.wrench, answer.total.byteOffset, 1, at.force, at.jacobian);
    return {
      force: free.map((row) => view.force[row]),
      slopes: free.flatMap((row) => free.map((column) => view.jacobian[6 * row + column])),
    };
  };
  const arm = free.map((row) => (row < 3 ? 0.02 : 1)); // moments [N m] beside forces [N]
  const size_of = (force) => Math.hypot(...force.map((value, k) => value / arm[k]));
  // Newton's method for the equilibrium at the beginning, of which the displacements are returned.
  const settled = () => {
    let x = new Float64Array(n), here = balance(x);
    for (let round = 0; round < 100; round += 1) {
      const step = solved(here.slopes, here.force).map((value) => -value);
      const most = Math.max(...step.map((value, k) => Math.abs(value) / (free[k] < 3 ? 0.03 : 1e-3)));
      if (most < 1e-9) return x;
      let share = Math.min(1, 1 / most), next, then;
      do {
        next = x.map((value, k) => value + share * step[k]);
        then = balance(next);
        share *= 0.5;
      } while (!(size_of(then.force) < size_of(here.force)) && share > 1e-4);
      if (share <= 1e-4) return size_of(here.force) < 1e-5 ? x : null;
      [x, here] = [next, then];
    }
    return null;
  };
  const COLUMNS = { flexion: 0, axial: 6, ap: 7, torque: 8 };

  // Simulate the cycle with factors on inputs and restraints, and the contact offset [rad, m].
  const cycle = ({ factors = {}, alignment = [0, 0, 0, 0, 0, 0], restraints = {} } = {}) => {
    pieces.set(nominal.pieces);
    for (const [name, factor] of Object.entries(factors)) {
      for (let k = COLUMNS[name]; k < pieces.length; k += 10) pieces[k] *= factor;
    }
    stiffness.set(nominal.stiffness);
    for (const [row, factor] of Object.entries(restraints)) stiffness[row] *= factor;
    offset.set(alignment);
    reference.set(nominal.reference.map((value, k) => value - alignment[k]));
    numbers(at.where, 1)[0] = 0;
    core.inputs_over_time(data.problem, 1, at.where, at.inputs, at.rates);
    const rest = settled();
    if (!rest) return { ended: "no equilibrium at the beginning" };
    const { slopes } = balance(rest);
    core.forces_by_time(data.problem, at.pose, at.rates, at.jacobian, at.change);
    const rates = solved(slopes, free.map((row) => -view.change[row]));
    free.forEach((row, k) => { reference[row] += rest[k]; });
    view.state.fill(0);
    inertial.forEach((row, k) => { view.state[n + k] = rates[free.indexOf(row)]; });
    const ended = core.integrate_trained(data.problem, data.trained, data.tableau, data.limits, size, data.mass, at.state, count, times, at.counts, at.where, at.states);
    if (ended) return { ended: data.outcomes[ended] };
    core.inputs_over_time(data.problem, count, times, at.values, at.slopes);
    const poses = numbers(at.poses, 6 * count), states = numbers(at.states, count * size);
    const values = numbers(at.values, 10 * count);
    for (let i = 0; i < count; i += 1) {
      for (let k = 0; k < 6; k += 1) poses[6 * i + k] = values[10 * i + k];
      free.forEach((row, k) => { poses[6 * i + row] = reference[row] + states[size * i + k]; });
    }
    const kept = poses.slice();
    for (let k = 0; k < poses.length; k += 1) poses[k] += offset[k % 6];
    const outside = core.fill_knee(data.parts, parts, count, at.poses, 0, 0, at.loads, 0, 0, at.variables, data.scratch);
    return { poses: kept, loads: numbers(at.loads, 12 * parts * count).slice(), outside };
  };
  return { loads, flags, axial, carrying, cycle };
};
