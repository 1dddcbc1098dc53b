"use strict";
// The designs of the front: which are within the chosen ranges, pointed at, and selected.
const designsFront = (() => {
  const data = JSON.parse(document.getElementById("designs").textContent);
  const listeners = [];
  const ranges = new Map(); // number of a column -> [least, largest]
  const state = { pointed: null, selected: data.first };
  const tell = () => listeners.forEach((listener) => listener());
  const within = ({ v }) => [...ranges].every(([k, [low, high]]) => v[k] >= low && v[k] <= high);
  const set = (key) => (k) => { if (state[key] !== k) { state[key] = k; tell(); } };
  // Axes reach over the ranges of parameters, and over the values of objectives with the base.
  const all = data.base ? [...data.designs, data.base] : data.designs;
  const limits = data.columns.map((column, k) => {
    if (column.range) return column.range;
    const values = all.map((design) => design.v[k]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const margin = Math.max(0.04 * (high - low), 1e-3 * Math.abs(high), 1e-9);
    return [low - margin, high + margin];
  });
  const { digits } = plotParts;
  const words = ({ v, label }) => `${label}: ${data.columns.map((column, k) => `${column.label} ${digits(v[k], 4)}${column.unit ? ` ${column.unit}` : ""}`).join(", ")}`;
  return {
    data, limits, words, within,
    listen: (listener) => { listeners.push(listener); },
    begin: tell,
    range: (k) => ranges.get(k) ?? null,
    setRange: (k, range) => { if (range) ranges.set(k, range); else ranges.delete(k); tell(); },
    clear: () => { ranges.clear(); tell(); },
    point: set("pointed"),
    select: set("selected"),
    get pointed() { return state.pointed; },
    get selected() { return state.selected; },
    get shown() { return data.designs[state.pointed ?? state.selected]; },
    // Class of the mark of a design.
    mark: (k) => (k === state.pointed ? "pointed" : k === state.selected ? "selected" : within(data.designs[k]) ? "" : "out"),
  };
})();
