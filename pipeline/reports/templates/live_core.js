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
  const { base, count, free, times } = data;
  const parts = data.compartments.length, n = free.length, size = 2 * n;
  const [low, high] = data.ranges, wide = 6 + low.length, steep = low.length ? 12 : 6;
  const expected = data.expected ?? { box: [], outputs: [] }, most = Math.max(0, ...data.pressures.map((own) => own.places));

  // ---- memory: the image, then arrays of numbers -------------------------------------------------
  let end = Math.ceil((base + image.length) / 64) * 64;
  const place = (numbers) => {
    end += 8 * numbers;
    return end - 8 * numbers;
  };
  const at = Object.fromEntries(Object.entries({
    pose: wide, own: 12 * parts, slope: steep * wide * parts, variable: 7 * parts, powers: 20, state: size,
    inputs: 10, rates: 10, force: 6, jacobian: 36, total: 36, change: 6, wrench: 6, counts: 2, where: 2, states: count * size,
    values: 10 * count, slopes: 10 * count, poses: wide * count, loads: 12 * parts * count, variables: 7 * parts * count,
    turn: 12, depth: most, pressure: most, box: wide * expected.box.length, errors: expected.box.length * Math.max(0, ...expected.outputs),
  }).map(([name, numbers]) => [name, place(numbers)]));
  const missing = end - core.memory.buffer.byteLength;
  if (missing > 0) core.memory.grow(Math.ceil(missing / 65536));
  new Uint8Array(core.memory.buffer).set(image, base);
  const numbers = (address, length) => new Float64Array(core.memory.buffer, address, length);
  const view = Object.fromEntries(Object.entries({
    pose: wide, own: 12 * parts, slope: steep * wide * parts, variable: 7 * parts, state: size, inputs: 10, rates: 10,
    force: 6, jacobian: 36, total: 36, change: 6, wrench: 6,
  }).map(([name, length]) => [name, numbers(at[name], length)]));
  const field = (name, length) => numbers(data.problem + data.fields[name], length);
  const reference = field("reference", 6), offset = field("offset", 6), stiffness = field("stiffness", 6);
  const pieces = numbers(data.pieces, 40 * data.knots), z = numbers(data.design, low.length);
  const pathPieces = data.path.flexion.length - 1;
  const neutral = numbers(data.neutral, 20 * (data.neutral_path ? pathPieces : 1));
  const nominal = { reference: reference.slice(), stiffness: stiffness.slice(), pieces: pieces.slice() };

  // ---- design and reference path ------------------------------------------------------------------
  let path = null;
  // The reference path (5) at a flexion [rad].
  const pathAt = (flexion) => {
    const knots = data.path.flexion, inner = knots.slice(1, -1).filter((knot) => knot <= flexion).length;
    const t = flexion - knots[inner];
    return path.reduce((sum, power) => sum.map((value, k) => value * t + power[inner][k]), [0, 0, 0, 0, 0]);
  };
  const start = () => pathAt(Math.max(data.path.flexion[0], Math.min(data.path.flexion.at(-1), 0)));
  // Take the design of values of the parameters, with its path and where its restraints are slack.
  const design = (values) => {
    z.set(values.map((value, k) => (2 * (value - low[k])) / (high[k] - low[k]) - 1));
    view.pose.set(z, 6);
    path = data.path.pieces;
    if (!low.length) return;
    path = Array.from({ length: 4 }, () => []);
    for (let piece = 0; piece < pathPieces; piece += 1) {
      core.fill_regressor(data.powers + piece * data.regressor_size, 1, data.design, 0, at.powers, 0, 0, data.scratch);
      path.forEach((power, e) => power.push(Array.from(numbers(at.powers + 40 * e, 5))));
    }
    if (data.neutral_path) { neutral.set(path.flat(2)); return; }
    const [, , forward, up] = pathAt(data.path.flexion[0]);
    neutral.set([data.neutral_anterior ?? forward, up], 17);
  };
  design(low.map((value, k) => 0.5 * (value + high[k])));
  const begun = start();
  // Error that few designs like this one exceed, by quantity: words, unit, limit, value.
  const errors = () => {
    const inputs = numbers(at.box, wide * expected.box.length), squares = [];
    expected.box.forEach((row, k) => inputs.set([...row.slice(0, 5), ...z, row[5]], wide * k));
    data.regressors.slice(0, data.expected ? parts : 0).forEach((own, c) => {
      let column = 0;
      expected.posteriors[c].forEach((posterior, r) => {
        const outputs = expected.outputs[r], found = numbers(at.errors, outputs * expected.box.length);
        core.regressor_errors(own[r], posterior, expected.box.length, at.box, at.errors, data.scratch);
        found.forEach((value, k) => { const to = column + (k % outputs); squares[to] = (squares[to] ?? 0) + value ** 2; });
        column += outputs;
      });
    });
    const outward = z.reduce((sum, value) => sum + value ** 2, 0) / z.length;
    return (expected.errors ?? []).map(({ column, size, factor, growth, ...words }) => ({
      ...words, value: factor * Math.exp(growth * outward) * size * Math.sqrt(squares[column] / parts / expected.box.length) }));
  };

  // ---- loads at a pose ----------------------------------------------------------------------------
  // Loads of each compartment (12) [SI], the derivatives of the whole wrench (6 x 6), and variables (7).
  const loads = (pose) => {
    view.pose.set(pose.slice(0, 6));
    const outside = core.fill_knee(data.parts, parts, 1, at.pose, 1, 0, at.own, at.slope, 0, at.variable, data.scratch) !== 0;
    const slope = (c, i, j) => view.slope[(c * steep + i) * wide + j];
    return {
      outside,
      loads: data.compartments.map((_, k) => view.own.slice(12 * k, 12 * k + 12)),
      total: Float64Array.from({ length: 36 }, (_, k) => data.compartments.reduce((sum, _side, c) => sum + slope(c, Math.floor(k / 6), k % 6), 0)),
      variables: data.compartments.map((_, k) => view.variable.slice(7 * k, 7 * k + 7)),
    };
  };
  // In what the pose of an answer leaves the trained domain of a compartment.
  const flags = (answer, k) => data.variables.filter((_, place) => !(Math.abs(answer.variables[k][place]) <= 1 + data.tolerance));
  // Rotation of the femur by rows, and its position [m].
  const placed = ([flexion, adduction, internal, ...position]) => {
    const [cf, sf, ca, sa, ci, si] = [flexion, -adduction, -internal].flatMap((angle) => [Math.cos(angle), Math.sin(angle)]);
    return [
      ci * cf + si * sa * sf, -ci * sf + si * sa * cf, si * ca,
      ca * sf, ca * cf, -sa,
      -si * cf + ci * sa * sf, si * sf + ci * sa * cf, ci * ca, ...position.slice(0, 3)];
  };
  // Pressures of the triangles of the tibial side [Pa] at a pose of the domain; null without fields.
  const pressures = (pose) => {
    if (!data.pressures.length) return null;
    const found = [], whole = (address, length) => new Int32Array(core.memory.buffer, address, length);
    numbers(at.turn, 12).set(placed(pose));
    for (const own of data.pressures) {
      const largest = core.skin_indentations(own.skin, at.turn, at.turn + 72, at.depth);
      if (own.layer) core.layer_pressures(own.layer, own.places, at.depth, own.bed, at.pressure);
      else core.spring_pressures(own.places, at.depth, largest, ...own.springs, at.pressure);
      const values = numbers(at.pressure, own.places), corners = whole(own.of_corner, 3 * own.corners), shares = numbers(own.shares, 3 * own.corners);
      whole(own.of_triangle, own.triangles).forEach((triangle, k) => {
        const mixed = [0, 1, 2].reduce((sum, c) => sum + shares[3 * k + c] * values[corners[3 * k + c]], 0);
        found[triangle] = (found[triangle] ?? 0) + (own.corners ? Math.max(mixed, 0) : values[k]);
      });
    }
    return found;
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
    const pose = view.pose.slice(0, 6);
    const answer = loads(pose.map((value, k) => value + offset[k]));
    view.total.set(answer.total);
    view.wrench.fill(0);
    for (const own of answer.loads) for (let k = 0; k < 6; k += 1) view.wrench[k] += own[k];
    view.pose.set(pose);
    core.forces_at(data.problem, at.pose, at.inputs + 48, at.wrench, at.total, 1, at.force, at.jacobian);
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
  // Force times sliding at the centre of pressure, over a cycle, of each compartment [N m].
  const slidingWork = (poses, loads) => {
    const frames = Array.from({ length: count }, (_, i) => placed(poses.subarray(wide * i, wide * i + 6)));
    // At a force and a centre, from the femur as placed at an instant to that at another.
    const slid = (push, centre, from, to) => {
      const arm = [0, 1, 2].map((k) => centre[k] - from[9 + k]);
      const own = [0, 1, 2].map((k) => arm[0] * from[k] + arm[1] * from[3 + k] + arm[2] * from[6 + k]);
      const way = [0, 1, 2].map((k) => own[0] * to[3 * k] + own[1] * to[3 * k + 1] + own[2] * to[3 * k + 2] + to[9 + k] - centre[k]);
      const force = Math.hypot(...push), along = push.reduce((sum, value, k) => sum + value * way[k], 0) / force;
      return force > 0 ? force * Math.sqrt(Math.max(0, Math.hypot(...way) ** 2 - along ** 2)) : 0;
    };
    return data.compartments.map((_, c) => {
      let work = 0;
      for (let i = 0; i < count; i += 1) {
        const own = loads.subarray(12 * (parts * i + c), 12 * (parts * i + c + 1));
        for (const to of [frames[i - 1], frames[i + 1]]) if (to) work += 0.5 * slid(own.subarray(0, 3), own.subarray(9, 12), frames[i], to);
      }
      return work;
    });
  };
  const COLUMNS = { flexion: 0, axial: 6, ap: 7, torque: 8 };

  // Simulate the cycle with factors on inputs and restraints, and the contact offset [rad, m].
  const cycle = ({ factors = {}, alignment = [0, 0, 0, 0, 0, 0], restraints = {}, parameters = null } = {}) => {
    if (parameters) design(parameters);
    pieces.set(nominal.pieces);
    for (const [name, factor] of Object.entries(factors)) {
      for (let k = COLUMNS[name]; k < pieces.length; k += 10) pieces[k] *= factor;
    }
    stiffness.set(nominal.stiffness);
    for (const [row, factor] of Object.entries(restraints)) stiffness[row] *= factor;
    offset.set(alignment);
    const shift = start().map((value, k) => value - begun[k]);
    reference.set(nominal.reference.map((value, k) => value - alignment[k] + (k ? shift[k - 1] : 0)));
    numbers(at.where, 1)[0] = 0;
    core.inputs_over_time(data.problem, 1, at.where, at.inputs, at.rates);
    let rest = settled();
    if (!rest) { // again from the height that carries the load
      view.state.fill(0);
      core.pose_at(data.problem, 0, at.state, at.pose);
      const pose = view.pose.slice(0, 6).map((value, k) => value + offset[k]), carried = carrying(pose, view.inputs[COLUMNS.axial]);
      if (carried) reference[4] += carried[4] - pose[4];
      rest = settled();
    }
    if (!rest) return { ended: "no equilibrium at the beginning" };
    const { slopes } = balance(rest);
    core.forces_by_time(data.problem, at.pose, at.rates, at.jacobian, at.change);
    const rates = solved(slopes, free.map((row) => -view.change[row]));
    free.forEach((row, k) => { reference[row] += rest[k]; });
    view.state.fill(0);
    rates.forEach((rate, k) => { view.state[n + k] = rate; });
    const ended = core.integrate_trained(data.problem, data.trained, data.limits, size, at.state, count, times, at.counts, at.where, at.states);
    if (ended) return { ended: data.outcomes[ended] };
    core.inputs_over_time(data.problem, count, times, at.values, at.slopes);
    const poses = numbers(at.poses, wide * count), states = numbers(at.states, count * size);
    const values = numbers(at.values, 10 * count), kept = new Float64Array(6 * count);
    for (let i = 0; i < count; i += 1) {
      kept.set(values.subarray(10 * i, 10 * i + 6), 6 * i);
      free.forEach((row, k) => { kept[6 * i + row] = reference[row] + states[size * i + k]; });
      poses.set(kept.subarray(6 * i, 6 * i + 6).map((value, k) => value + offset[k]), wide * i);
      poses.set(z, wide * i + 6);
    }
    const outside = core.fill_knee(data.parts, parts, count, at.poses, 0, 0, at.loads, 0, 0, at.variables, data.scratch);
    const own = numbers(at.loads, 12 * parts * count).slice();
    return { poses: kept, loads: own, sliding: slidingWork(poses, own), outside };
  };
  return { design, path: pathAt, errors, loads, flags, placed, pressures, axial, carrying, cycle };
};
