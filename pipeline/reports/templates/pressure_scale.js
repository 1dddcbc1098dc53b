"use strict";
// The colour scale beside the pressure picture, drawn as the shader colours.
const colourScale = (place, data, colours) => {
  const { svg, short } = plotParts;
  const TOP = 26, BOTTOM = 10, WIDE = 18, LEFT = 4;
  const shade = (part) => {
    const k = 3 * Math.max(0, Math.min(255, Math.floor(part * 255 + 0.5)));
    return `rgb(${colours[k]}, ${colours[k + 1]}, ${colours[k + 2]})`;
  };
  const steps = Math.round(data.top_MPa / data.step_MPa);
  const bandColour = (band) => shade((band + 0.5) / steps);
  const last = {};
  const draw = () => {
    const box = place.getBoundingClientRect();
    if (!box.height) return;
    place.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const [tall, foot] = [box.height - TOP - BOTTOM, box.height - BOTTOM];
    const y = (MPa) => foot - (tall * MPa) / data.top_MPa;
    const piece = (low, high, fill) => svg("rect", {
      x: LEFT, y: y(high), width: WIDE, height: Math.max(0, y(low) - y(high)), fill });
    place.replaceChildren(svg("text", { x: 0, y: 13, class: "unit" }, "MPa"));
    const parts = last.bands ? steps : 128;
    for (let k = 0; k < parts; k += 1) {
      const [low, high] = [(k * data.top_MPa) / parts, ((k + 1) * data.top_MPa) / parts];
      place.append(piece(low, high + (last.bands ? 0 : 0.002 * data.top_MPa), shade((k + 0.5) / parts)));
    }
    const { limit, grey } = last;
    if (grey > 0) place.append(piece(0, Math.min(grey, data.top_MPa), "#ccc"));
    if (limit !== null && limit < data.top_MPa) {
      place.append(piece(limit, data.top_MPa, "#d55e00"));
      for (let at = y(limit); at > TOP; at -= 7) {
        const end = Math.max(at - WIDE, TOP);
        place.append(svg("path", { d: `M${LEFT} ${at}L${LEFT + at - end} ${end}`, stroke: "#ffdbc7", "stroke-width": 1.8 }));
      }
    }
    place.append(svg("rect", { x: LEFT, y: TOP, width: WIDE, height: tall, fill: "none", stroke: "#444" }));
    for (let k = 0; k <= steps; k += 1) {
      const at = y(k * data.step_MPa);
      if (last.bands || last.lines) place.append(svg("path", { d: `M${LEFT} ${at}h${WIDE}`, stroke: "#444", "stroke-width": 0.6 }));
      place.append(svg("path", { d: `M${LEFT + WIDE} ${at}h4`, stroke: "#444" }));
      place.append(svg("text", { x: LEFT + WIDE + 7, y: at + 4 }, short(k * data.step_MPa)));
    }
  };
  new ResizeObserver(draw).observe(place);
  return { show: (look) => { Object.assign(last, look); draw(); }, bandColour };
};
