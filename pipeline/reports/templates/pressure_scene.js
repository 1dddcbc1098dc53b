"use strict";
// What the 3-D view draws: surfaces, poses and pressures of the page's data on the graphics card.
const kneeScene = (gl, data) => {
  // ---- arrays -------------------------------------------------------------------------------
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const as = (Type, text) => new Type(bytes(text).buffer);
  const indices = (part) => as(part.index === "uint16" ? Uint16Array : Uint32Array, part.faces);

  // Corners and smooth normals of every triangle, six numbers a corner.
  const corners = (vertices, faces) => {
    const normals = new Float32Array(vertices.length);
    const at = (k, axis) => vertices[3 * faces[k] + axis];
    for (let k = 0; k < faces.length; k += 3) {
      const [a, b] = [1, 2].map((c) => [0, 1, 2].map((axis) => at(k + c, axis) - at(k, axis)));
      const n = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
      for (let c = 0; c < 3; c += 1) {
        for (let axis = 0; axis < 3; axis += 1) normals[3 * faces[k + c] + axis] += n[axis];
      }
    }
    const both = new Float32Array(6 * faces.length);
    faces.forEach((vertex, k) => {
      both.set(vertices.subarray(3 * vertex, 3 * vertex + 3), 6 * k);
      both.set(normals.subarray(3 * vertex, 3 * vertex + 3), 6 * k + 3);
    });
    return both;
  };

  // ---- programs and buffers -----------------------------------------------------------------
  const VERTEX = `#version 300 es
    in vec3 point; in vec3 normal; in float level;
    uniform mat3 turn; uniform vec3 shift; uniform mat3 eye; uniform vec3 middle; uniform vec3 scale;
    uniform vec2 moved;
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
    // Top, step, limit and threshold of the colours as parts of the largest pressure.
    uniform vec4 levels; uniform bool bands, lines; uniform float sharp;
    uniform vec4 base; uniform float rim; uniform sampler2D colours;
    out vec4 colour;
    float line(float away, float wide) { return 1.0 - smoothstep(wide - 0.6, wide + 0.6, away / sharp); }
    void main() {
      vec3 n = normalize(facing);
      float lit = 0.62 + 0.42 * abs(dot(n, normalize(vec3(-0.35, 0.65, 0.67))));
      // Of what is seen through, the rim is densest, as of glass.
      float alpha = base.a + rim * pow(1.0 - abs(n.z), 2.0);
      float width = max(fwidth(shade), 1e-6);
      colour = vec4(base.rgb * lit, alpha);
      if (shade <= 0.0) return;
      // Pressure is not shaded, so that its colour is that of the scale.
      float step = levels.y / levels.x;
      float at = shade / levels.x;
      if (bands) at = (floor(at / step) + 0.5) * step;
      vec3 told = texture(colours, vec2((at * 255.0 + 0.5) / 256.0, 0.5)).rgb;
      if (shade < levels.w) told = vec3(0.8);
      bool over = levels.z > 0.0 && shade > levels.z;
      if (over) {
        float stripe = mod(gl_FragCoord.x + gl_FragCoord.y, 7.0 * sharp) / sharp;
        told = stripe < 2.0 ? vec3(1.0, 0.86, 0.78) : vec3(0.835, 0.369, 0.0);
      }
      float nearest = floor(shade / levels.y + 0.5);
      if (lines && !over && nearest > 0.5) {
        float away = abs(shade - nearest * levels.y) / width;
        told = mix(told, at > 0.6 ? vec3(0.0) : vec3(1.0), line(away, 0.6) * clamp(0.12 * levels.y / width / sharp - 0.2, 0.0, 0.7));
      }
      if (levels.z > 0.0) told = mix(told, vec3(0.25, 0.05, 0.0), line(abs(shade - levels.z) / width, 1.0));
      told = mix(told, vec3(0.1), line(shade / width, 1.2));
      colour = vec4(told, 1.0);
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
  const uniform = (name) => gl.getUniformLocation(program, name);
  const where = Object.fromEntries(
    ["turn", "shift", "eye", "middle", "scale", "moved", "base", "rim", "levels", "bands", "lines", "sharp"].map((name) => [name, uniform(name)]));

  const surface = (both, levels) => {
    const state = gl.createVertexArray();
    gl.bindVertexArray(state);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, both, gl.STATIC_DRAW);
    ["point", "normal"].forEach((name, k) => {
      const at = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 24, 12 * k);
    });
    const buffer = gl.createBuffer();
    if (levels) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, levels, gl.DYNAMIC_DRAW);
      const at = gl.getAttribLocation(program, "level");
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, 1, gl.SHORT, true, 2, 0);
    }
    return { state, buffer, count: both.length / 6 };
  };

  const plateau = as(Float32Array, data.tibia.vertices);
  const bone = as(Float32Array, data.femur.vertices);
  const boneFaces = indices(data.femur);
  const plateauFaces = indices(data.tibia);
  const side = bytes(data.side);
  const levels = new Int16Array(plateauFaces.length).fill(-32767);
  const walls = as(Float32Array, data.walls);
  const parts = {
    tibia: surface(corners(plateau, plateauFaces), levels),
    walls: surface(corners(walls, Uint32Array.from({ length: walls.length / 3 }, (_, k) => k))),
    femur: surface(corners(bone, boneFaces)),
  };
  const active = as(Uint32Array, data.active);
  const models = Object.fromEntries(Object.entries(data.models).map(([name, model]) => [
    name, { ...model, pose: as(Float32Array, model.pose), values: as(Int16Array, model.values) }]));
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, bytes(data.colours));
  for (const [key, value] of [["MIN_FILTER", "NEAREST"], ["MAG_FILTER", "NEAREST"],
    ["WRAP_S", "CLAMP_TO_EDGE"], ["WRAP_T", "CLAMP_TO_EDGE"]]) {
    gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_${key}`], gl[value]);
  }
  gl.enable(gl.DEPTH_TEST);
  gl.depthFunc(gl.LEQUAL);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  gl.clearColor(1, 1, 1, 1);

  // ---- drawing ------------------------------------------------------------------------------
  const STILL = [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const paint = (part, base, pose, rim = 0) => {
    const turn = pose ? pose.subarray(0, 9) : STILL;
    gl.uniformMatrix3fv(where.turn, true, turn);
    gl.uniform3fv(where.shift, pose ? pose.subarray(9, 12) : [0, 0, 0]);
    gl.uniform4fv(where.base, base);
    gl.uniform1f(where.rim, rim);
    gl.bindVertexArray(part.state);
    gl.drawArrays(gl.TRIANGLES, 0, part.count);
  };
  // Pressures of the vertices, as parts of the largest pressure in 16 bits.
  const tint = (own) => {
    for (let k = 0; k < levels.length; k += 1) levels[k] = own[plateauFaces[k]];
    gl.bindBuffer(gl.ARRAY_BUFFER, parts.tibia.buffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, levels);
  };
  return {
    where, parts, models, active, paint, tint, bone, boneFaces,
    plateau, plateauFaces, side, colours: bytes(data.colours),
  };
};
