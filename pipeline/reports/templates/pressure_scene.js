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
    out float shade; out vec3 facing;
    void main() {
      vec3 seen = eye * (turn * point + shift - middle);
      gl_Position = vec4(seen * scale, 1.0);
      facing = eye * (turn * normal);
      shade = level;
    }`;
  const FRAGMENT = `#version 300 es
    precision highp float;
    in float shade; in vec3 facing;
    uniform vec4 base; uniform float rim; uniform sampler2D colours;
    out vec4 colour;
    void main() {
      vec3 n = normalize(facing);
      float lit = 0.62 + 0.42 * abs(dot(n, normalize(vec3(-0.35, 0.65, 0.67))));
      // Pressure is hardly shaded, so that its colour stays that of the scale.
      vec3 told = texture(colours, vec2((shade * 255.0 + 0.5) / 256.0, 0.5)).rgb;
      // Of what is seen through, the rim is densest, as of glass.
      float alpha = base.a + rim * pow(1.0 - abs(n.z), 2.0);
      colour = shade > 0.0 ? vec4(told * (0.86 + 0.14 * lit), 1.0) : vec4(base.rgb * lit, alpha);
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
    ["turn", "shift", "eye", "middle", "scale", "base", "rim"].map((name) => [name, uniform(name)]));

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
      gl.vertexAttribPointer(at, 1, gl.UNSIGNED_BYTE, true, 1, 0);
    }
    return { state, buffer, count: both.length / 6 };
  };

  const plateau = as(Float32Array, data.tibia.vertices);
  const bone = as(Float32Array, data.femur.vertices);
  const plateauFaces = indices(data.tibia);
  const levels = new Uint8Array(plateauFaces.length);
  const walls = as(Float32Array, data.walls);
  const parts = {
    tibia: surface(corners(plateau, plateauFaces), levels),
    walls: surface(corners(walls, Uint32Array.from({ length: walls.length / 3 }, (_, k) => k))),
    femur: surface(corners(bone, indices(data.femur))),
  };
  const active = as(Uint32Array, data.active);
  const models = Object.fromEntries(Object.entries(data.models).map(([name, model]) => [
    name, { ...model, pose: as(Float32Array, model.pose), levels: bytes(model.levels) }]));
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
  // The pressures of an instant, as shades of the active triangles.
  const tint = (own) => {
    active.forEach((face, k) => levels.fill(own[k], 3 * face, 3 * face + 3));
    gl.bindBuffer(gl.ARRAY_BUFFER, parts.tibia.buffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, levels);
  };
  return { where, plateau, parts, models, active, paint, tint };
};
