// Draws the mesh of a grid with WebGL: the projection is done for each corner, the colour for each cell.

import { copies } from './projecting.js';
import { mesh } from './meshing.js';
import { Refused } from './asking.js';

const CORNER = `#version 300 es
precision highp float;
precision highp int;
layout(location = 0) in vec2 place;
layout(location = 1) in uint cell;
uniform int projection;
uniform float turn;
uniform vec2 centre, scale;
uniform float disc;
uniform highp sampler2D values;
flat out float value;
out vec2 paper;
void main() {
  int at = int(cell), wide = textureSize(values, 0).x;
  value = texelFetch(values, ivec2(at % wide, at / wide), 0).r;
  if (projection == 0) {
    paper = vec2(place.x + turn, place.y);
  } else {
    float pole = projection == 1 ? 1.0 : -1.0, angle = radians(place.x);
    float radius = tan(radians(90.0 - max(-80.0, pole * place.y)) / 2.0);
    paper = radius * vec2(sin(angle), -pole * cos(angle));
  }
  gl_Position = vec4((paper - centre) * scale, 0.0, 1.0);
  gl_PointSize = disc;
}`;
const COLOUR = `#version 300 es
precision highp float;
precision highp int;
flat in float value;
in vec2 paper;
uniform int projection;
uniform vec2 range, ends;
uniform float rim;
uniform sampler2D colours;
out vec4 colour;
void main() {
  // What is missing is no number, and not all cards know how to compare that.
  if ((floatBitsToUint(value) & 0x7f800000u) == 0x7f800000u) discard;
  if (projection == 0 ? paper.x < ends.x || paper.x > ends.y : dot(paper, paper) > 1.0) discard;
  // A point is a disc with a dark rim, so that it is seen on any ground.
  float away = rim > 0.0 ? length(gl_PointCoord - 0.5) * 2.0 : 0.0;
  if (away > 1.0) discard;
  float share = clamp((value - range.x) / (range.y - range.x), 0.0, 1.0);
  colour = texelFetch(colours, ivec2(min(255, int(share * 256.0)), 0), 0);
  if (away > 1.0 - rim) colour = vec4(colour.rgb * 0.35, 1.0);
}`;
const KINDS = { flat: 0, north: 1, south: 2 };
const NAMES = ['projection', 'turn', 'centre', 'scale', 'values', 'range', 'ends', 'colours', 'disc', 'rim'];
// How wide a point is, in pixels of the page: less where there are many.
export const pointSize = (number) => (number > 5000 ? 5 : number > 500 ? 8 : 12);

export class Painter {
  // Raises Refused where the browser has no WebGL 2.
  constructor(canvas, again) {
    this.canvas = canvas;
    this.grid = this.slab = null;
    this.gl = canvas.getContext('webgl2', { antialias: false, alpha: true, preserveDrawingBuffer: false });
    if (!this.gl) throw new Refused('This browser does not support WebGL 2.', 'turn on hardware acceleration, or open the page in another browser');
    this.#prepare();
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault());
    canvas.addEventListener('webglcontextrestored', () => {
      const { grid, slab } = this;
      this.grid = this.slab = null;
      this.#prepare();
      if (grid) this.show(grid, slab);
      again();
    });
  }

  #prepare() {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, CORNER], [gl.FRAGMENT_SHADER, COLOUR]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Refused('The graphics card cannot run the shader that draws the map.', 'open the page in another browser');
    gl.useProgram(program);
    this.at = Object.fromEntries(NAMES.map((name) => [name, gl.getUniformLocation(program, name)]));
    gl.uniform1i(this.at.values, 0);
    gl.uniform1i(this.at.colours, 1);
    for (const unit of [0, 1]) {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
      for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
      for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    }
    [this.places, this.cells, this.order] = [gl.createBuffer(), gl.createBuffer(), gl.createBuffer()];
    this.colours = null;
  }

  // Takes values, Float32 row by row, and the grid on which they lie; neither is sent to the card twice.
  show(grid, slab) {
    const gl = this.gl;
    if (grid !== this.grid) {
      const made = mesh(grid);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
      gl.bufferData(gl.ARRAY_BUFFER, made.places, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(0);
      gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.cells);
      gl.bufferData(gl.ARRAY_BUFFER, made.cells, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(1);
      gl.vertexAttribIPointer(1, 1, gl.UNSIGNED_INT, 0, 0);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, made.order, gl.STATIC_DRAW);
      [this.grid, this.within, this.beyond, this.step, this.size] = [grid, made.within, made.across, made.step, null];
    }
    if (slab !== this.slab) {
      const values = slab.data, wide = Math.min(gl.getParameter(gl.MAX_TEXTURE_SIZE), Math.max(1, Math.ceil(Math.sqrt(values.length))));
      const rows = Math.floor(values.length / wide), rest = values.length - rows * wide;
      gl.activeTexture(gl.TEXTURE0);
      if (this.size !== values.length) gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, wide, rows + (rest ? 1 : 0), 0, gl.RED, gl.FLOAT, null);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, wide, rows, gl.RED, gl.FLOAT, values, 0);
      if (rest) gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, rows, rest, 1, gl.RED, gl.FLOAT, values, rows * wide);
      [this.slab, this.size] = [slab, values.length];
    }
  }

  clear() {
    this.grid = this.slab = null;
    this.gl.clearColor(0, 0, 0, 0);
    this.gl.clear(this.gl.COLOR_BUFFER_BIT);
  }

  // Draws a view; size in pixels of the page, the range of values and the table of their colours.
  draw(view, size, range, colours) {
    const gl = this.gl, dense = devicePixelRatio || 1, [wide, high] = [Math.round(size.width * dense), Math.round(size.height * dense)];
    if (this.canvas.width !== wide || this.canvas.height !== high) [this.canvas.width, this.canvas.height] = [wide, high];
    gl.viewport(0, 0, wide, high);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.slab) return;
    if (colours !== this.colours) {
      gl.activeTexture(gl.TEXTURE1);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colours);
      this.colours = colours;
    }
    gl.uniform1i(this.at.projection, KINDS[view.projection]);
    gl.uniform2f(this.at.centre, view.x, view.y);
    gl.uniform2f(this.at.scale, 2 / view.span, 2 / (view.span * size.height / size.width));
    gl.uniform2f(this.at.range, ...range);
    gl.uniform2f(this.at.ends, view.x - 180, view.x + 180);
    const across = this.grid.points ? pointSize(this.grid.nx) * dense : 0;
    gl.uniform1f(this.at.disc, across);
    gl.uniform1f(this.at.rim, across ? Math.min(0.5, 3 / across) : 0);
    const turns = (number, west, east, start) => {
      if (!number) return;
      for (const turn of copies(view, west, east)) {
        gl.uniform1f(this.at.turn, turn);
        gl.drawElements(this.grid.points ? gl.POINTS : gl.TRIANGLES, number, gl.UNSIGNED_INT, start * 4);
      }
    };
    turns(this.within, -180, 180, 0);
    turns(this.beyond, -360, 360, this.within);
  }
}
