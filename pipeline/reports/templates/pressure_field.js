"use strict";
// The pressure on the plateau as numbers: one field gives colours, labels, areas and hover values.
const pressureField = (data, { plateau, plateauFaces, side, active, models }) => {
  const WHOLE = 32767;
  const count = plateau.length / 3;
  const toMPa = data.peak_MPa / WHOLE;

  // Areas of the triangles [mm²].
  const areas = new Float64Array(plateauFaces.length / 3).map((_, f) => {
    const [a, b, c] = [0, 1, 2].map((k) => 3 * plateauFaces[3 * f + k]);
    const [u, v] = [b, c].map((p) => [0, 1, 2].map((axis) => plateau[p + axis] - plateau[a + axis]));
    return 0.5 * Math.hypot(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]);
  });
  // Compartment of each vertex: that of its last triangle.
  const sideOf = new Uint8Array(count);
  plateauFaces.forEach((vertex, k) => { sideOf[vertex] = side[Math.floor(k / 3)]; });

  const own = new Int16Array(count).fill(-WHOLE);
  const largest = {};
  // The field of an instant, or the largest of each vertex over the cycle (frame null).
  const fieldAt = (name, frame) => {
    const values = models[name].values;
    const size = active.length;
    if (frame === null && !largest[name]) {
      largest[name] = values.slice(0, size);
      values.forEach((value, k) => { if (value > largest[name][k % size]) largest[name][k % size] = value; });
    }
    const of = frame === null ? largest[name] : values.subarray(size * frame, size * (frame + 1));
    active.forEach((vertex, k) => { own[vertex] = of[k]; });
    return own;
  };

  // Largest pressure of each compartment [MPa] and its vertex; null without contact.
  const peaks = () => {
    const found = [null, null];
    active.forEach((vertex) => {
      const best = found[sideOf[vertex]];
      if (own[vertex] > 0 && (!best || own[vertex] > own[best.vertex])) found[sideOf[vertex]] = { vertex };
    });
    return found.map((best) => best && {
      MPa: own[best.vertex] * toMPa, place: [...plateau.subarray(3 * best.vertex, 3 * best.vertex + 3)],
    });
  };

  // Area of each compartment above a level [mm²], cut along the level inside the triangles.
  const areaAbove = (MPa) => {
    const level = MPa / toMPa;
    const total = [0, 0];
    for (let f = 0; f < areas.length; f += 1) {
      const [a, b, c] = [own[plateauFaces[3 * f]], own[plateauFaces[3 * f + 1]], own[plateauFaces[3 * f + 2]]];
      const [low, high] = [Math.min(a, b, c), Math.max(a, b, c)];
      if (high <= level) continue;
      const middle = a + b + c - low - high;
      let share = 1;
      if (level >= middle) share = (high - level) ** 2 / ((high - low) * (high - middle));
      else if (level > low) share = 1 - (level - low) ** 2 / ((high - low) * (middle - low));
      total[side[f]] += share * areas[f];
    }
    return total;
  };

  // What lies under a point of the picture: weights of the corners of the nearest triangle.
  const under = (points, faces, [x, y]) => {
    let best = null;
    for (let f = 0; f < faces.length; f += 3) {
      const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
      const [bx, by] = [points[b] - points[a], points[b + 1] - points[a + 1]];
      const [cx, cy] = [points[c] - points[a], points[c + 1] - points[a + 1]];
      const det = bx * cy - by * cx;
      if (Math.abs(det) < 1e-12) continue;
      const [px, py] = [x - points[a], y - points[a + 1]];
      const [v, w] = [(px * cy - py * cx) / det, (bx * py - by * px) / det];
      if (v < 0 || w < 0 || v + w > 1) continue;
      const depth = (1 - v - w) * points[a + 2] + v * points[b + 2] + w * points[c + 2];
      if (!best || depth > best.depth) best = { depth, corners: [a, b, c], weights: [1 - v - w, v, w] };
    }
    return best;
  };
  const mixed = ({ corners, weights }, of) => weights.reduce((sum, w, k) => sum + w * of(corners[k]), 0);
  // Pressure [MPa] and place [mm] of what `under` found on the plateau.
  const told = (hit) => ({
    MPa: Math.max(0, mixed(hit, (p) => own[p / 3])) * toMPa,
    place: [0, 1, 2].map((axis) => mixed(hit, (p) => plateau[p + axis])),
  });
  return { fieldAt, peaks, areaAbove, under, told };
};
