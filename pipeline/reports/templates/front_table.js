"use strict";
// The table of the front: sorted by a column, limited to the ranges, selected by its buttons; CSV.
(() => {
  const { save } = plotParts;
  const front = designsFront, { columns, designs } = front.data;
  const table = document.getElementById("table");
  const body = table.querySelector("tbody");
  const rows = [...body.rows];
  const place = (row) => Number(row.dataset.k);
  rows.forEach((row) => {
    row.querySelector("button").addEventListener("click", () => front.select(place(row)));
    row.addEventListener("pointerenter", () => front.point(place(row)));
    row.addEventListener("pointerleave", () => front.point(null));
  });
  table.querySelectorAll("thead th[data-column]").forEach((head) => {
    const k = Number(head.dataset.column);
    head.querySelector("button").addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      body.append(...[...rows].sort((a, b) => sign * (designs[place(a)].v[k] - designs[place(b)].v[k])));
    });
  });
  front.listen(() => rows.forEach((row) => { row.className = front.within(designs[place(row)]) ? front.mark(place(row)) : "out"; }));
  const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  document.getElementById("save").addEventListener("click", () => {
    const head = ["design", "name", ...columns.map(({ key }) => key), "flagged_instants", "doubts"];
    const lines = designs.filter(front.within).map(({ number, name, v, flagged, doubts }) => [number, name, ...v, flagged, cell(doubts)].join(","));
    save("front.csv", `${[head.join(","), ...lines].join("\r\n")}\r\n`);
  });
  front.begin();
})();
