// Lanes over time on a canvas. Every pixel is the sum of what its stretch of time went into, at any zoom,
// so that nothing is skipped and nothing depends on the order of drawing.
"use strict";
(() => {
const LEFT = 52, MAP = 22, GAP = 10, AXIS = 40, MOST_HEIGHT = 420;

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function unpack(plain, rows, names) {
  const columns = {};
  names.forEach((name, index) => {
    const at = index * rows * 4, column = new Int32Array(rows);
    for (let row = 0; row < rows; row++) {
      column[row] = plain[at + row] | plain[at + rows + row] << 8 | plain[at + 2 * rows + row] << 16
        | plain[at + 3 * rows + row] << 24;
    }
    columns[name] = column;
  });
  for (const name of ["began", "cell"]) {
    const column = columns[name];
    for (let row = 1; row < rows; row++) column[row] += column[row - 1];
  }
  return columns;
}

function time(quanta, quantum_ns, step_ns) {
  const ns = quanta * quantum_ns, scale = step_ns ?? ns;
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (scale >= size || unit === "µs") {
      const value = ns / size || 0;
      const digits = step_ns ? Math.max(0, -Math.floor(Math.log10(step_ns / size) + 1e-9)) : value < 10 ? 2 : value < 100 ? 1 : 0;
      return `${value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
    }
  }
}

class Lanes {
  constructor(root, given, plain, objects) {
    this.given = given;
    this.root = root;
    this.objects = objects;
    this.columns = unpack(plain, given.rows, given.columns);
    this.lanes = given.lanes;
    this.firsts = new Int32Array(this.lanes + 1).fill(given.rows);
    for (let row = given.rows - 1; row >= 0; row--) this.firsts[this.columns.lane[row]] = row;
    for (let lane = this.lanes - 1; lane >= 0; lane--) {
      this.firsts[lane] = Math.min(this.firsts[lane], this.firsts[lane + 1]);
    }
    this.cells = given.cells.map(([number, treatment, label, began, ended]) => ({ number, treatment, label, began, ended }));
    this.ofCell = new Map(this.cells.map((cell) => [cell.number, cell]));
    this.end = Math.max(...this.cells.map((cell) => cell.ended));
    for (const cell of this.cells) cell.lanes = 0;
    const { cell: cells, lane: lanes } = this.columns;
    for (let row = 0; row < given.rows; row++) {
      const cell = this.ofCell.get(cells[row]);
      if (lanes[row] >= cell.lanes) cell.lanes = lanes[row] + 1;
    }
    this.mode = "phase";
    this.build();
    this.readColours();
    this.show(this.ofCell.get(given.shown));
  }

  build() {
    this.canvas = this.root.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.tip = this.root.querySelector(".lanes-tip");
    this.status = this.root.querySelector(".lanes-status");
    this.select = this.root.querySelector("select[name=cell]");
    this.select.append(new Option("whole run", ""));
    for (const cell of this.cells) this.select.append(new Option(cell.label, cell.number));
    this.select.addEventListener("change", () => this.show(this.ofCell.get(Number(this.select.value || -1))));
    const mode = this.root.querySelector("select[name=mode]");
    mode.addEventListener("change", () => { this.mode = mode.value; this.legend(); this.later(); });
    const acts = { in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.show(null) };
    for (const button of this.root.querySelectorAll("button[data-act]")) {
      button.addEventListener("click", acts[button.dataset.act]);
    }
    this.pointers();
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.size()).observe(this.canvas.parentElement);
    document.addEventListener("themechange", () => { this.readColours(); this.later(); });
    this.size();
  }

  readColours() {
    const styles = getComputedStyle(document.documentElement);
    const rgb = (colour) => {
      const text = styles.getPropertyValue(colour.slice(4, -1)).trim();
      return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
    };
    const cycle = this.given.colours.map(rgb);
    this.paper = rgb("var(--paper)");
    this.ink = styles.getPropertyValue("--ink").trim();
    this.muted = styles.getPropertyValue("--muted").trim();
    this.grid = styles.getPropertyValue("--grid").trim();
    this.red = styles.getPropertyValue("--red").trim();
    this.classes = {
      phase: this.given.phases.map(([, label, colour]) => [label, rgb(colour)]),
      outcome: this.given.fates.map((fate, index) => [fate || "unknown", fate === "ok" ? cycle[2] : cycle[(index + 7) % cycle.length]]),
      treatment: this.given.treatments.map((name, index) => [name, cycle[index % cycle.length]]),
    };
    this.legend();
  }

  legend() {
    const list = this.root.querySelector(".lanes-legend");
    const classes = this.classes[this.mode].filter(([label]) => label !== "unknown");
    list.replaceChildren(...classes.map(([label, colour]) => {
      const item = document.createElement("li"), mark = document.createElement("i");
      mark.style.background = `rgb(${colour})`;
      item.append(mark, label);
      return item;
    }));
  }

  size() {
    const width = Math.max(320, this.canvas.parentElement.clientWidth);
    const ratio = window.devicePixelRatio || 1;
    this.width = width - LEFT;
    this.step = Math.max(3, Math.min(20, Math.floor(MOST_HEIGHT / this.lanes)));
    this.top = (this.cells.length > 1 ? MAP + GAP : 0) + 4;
    this.height = this.top + this.step * this.lanes + AXIS;
    this.canvas.width = width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.height = `${this.height}px`;
    this.ratio = ratio;
    this.pixels = Math.round(this.width * ratio);
    this.strip = new OffscreenCanvas(this.pixels, this.lanes);
    this.image = new ImageData(this.pixels, this.lanes);
    if (this.t1) this.draw();
  }

  show(cell) {
    this.cell = cell ?? null;
    this.select.value = cell ? cell.number : "";
    const margin = cell ? (cell.ended - cell.began) * 0.01 : 0;
    this.look(cell ? cell.began - margin : 0, cell ? cell.ended + margin : this.end);
  }

  look(t0, t1) {
    const least = 20;
    if (t1 - t0 < least) t1 = t0 + least;
    const wide = Math.min(t1 - t0, this.end * 1.02);
    this.t0 = Math.max(-this.end * 0.01, Math.min(t0, this.end * 1.01 - wide));
    this.t1 = this.t0 + wide;
    const seen = this.cells.filter((cell) => cell.ended > this.t0 && cell.began < this.t1);
    const share = (cell) => (Math.min(cell.ended, this.t1) - Math.max(cell.began, this.t0)) / wide;
    this.inside = seen.find((cell) => share(cell) > 0.9) ?? null;
    this.select.value = this.inside ? this.inside.number : "";
    this.status.textContent = this.inside ? `Cell ${this.inside.label}` : `${seen.length} cells`;
    this.later();
  }

  zoom(factor, at = 0.5) {
    const centre = this.t0 + (this.t1 - this.t0) * at, wide = (this.t1 - this.t0) * factor;
    this.look(centre - wide * at, centre + wide * (1 - at));
  }

  later() {
    this.due ??= requestAnimationFrame(() => { this.due = undefined; this.draw(); });
  }

  draw() {
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width + LEFT, this.height);
    const failed = this.paint();
    this.strip.getContext("2d").putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.strip, LEFT, this.top, this.width, this.step * this.lanes);
    context.fillStyle = `rgb(${this.paper})`;
    if (this.step > 4) {
      for (let lane = 1; lane < this.lanes; lane++) context.fillRect(LEFT, this.top + lane * this.step - 1, this.width, 1);
    }
    for (const [x, lane] of this.edges) context.fillRect(LEFT + x / ratio, this.top + lane * this.step, 1, this.step);
    if (this.inside && this.inside.lanes < this.lanes) this.unused(this.inside.lanes);
    context.fillStyle = this.red;
    for (const [x, lane] of failed) context.fillRect(LEFT + x / ratio, this.top + lane * this.step, 2, Math.min(3, this.step));
    this.axes();
    if (this.cells.length > 1) this.map();
  }

  // Lanes that other cells of the run have and this one has not: no paper, which would be an empty slot.
  unused(first) {
    const { context } = this, top = this.top + first * this.step, height = (this.lanes - first) * this.step;
    context.fillStyle = this.grid;
    context.globalAlpha = 0.6;
    context.fillRect(LEFT, top, this.width, height);
    context.globalAlpha = 1;
    context.fillStyle = this.muted;
    context.font = "12px Helvetica, Arial, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    if (height > 14) context.fillText("lanes that this cell did not have", LEFT + this.width / 2, top + height / 2);
  }

  // Adds up, for every lane and pixel, the time of each class; returns the pixels that hold a failed attempt.
  paint() {
    const { columns, pixels, t0, t1, given, mode, paper } = this, out = this.image.data;
    const scale = pixels / (t1 - t0), classes = this.classes[mode], count = classes.length;
    const phases = given.phases.map(([key]) => columns[key]), FAILED = given.phases.findIndex(([key]) => key === "failed");
    const { began, took, fate, cell } = columns, byCell = mode === "treatment";
    const sums = new Float32Array(pixels * count), failed = [];
    this.edges = [];
    const add = (kind, from, to) => {
      from = from < 0 ? 0 : from;
      to = to > pixels ? pixels : to;
      if (to <= from) return;
      let first = from | 0;
      const last = to | 0;
      if (first === last) { sums[first * count + kind] += to - from; return; }
      sums[first * count + kind] += first + 1 - from;
      for (first++; first < last; first++) sums[first * count + kind] += 1;
      if (last < pixels) sums[last * count + kind] += to - last;
    };
    for (let lane = 0; lane < this.lanes; lane++) {
      sums.fill(0);
      const end = this.firsts[lane + 1];
      let lastFailed = -9;
      for (let row = this.before(lane, t0); row < end && began[row] < t1; row++) {
        const from = (began[row] - t0) * scale, to = from + took[row] * scale;
        if (mode === "phase") {
          let at = from;
          for (let phase = 0; phase < count; phase++) {
            const long = phases[phase][row] * scale;
            if (long > 0) { add(phase, at, at + long); at += long; }
          }
        } else add(byCell ? this.ofCell.get(cell[row]).treatment : fate[row], from, to);
        if (phases[FAILED][row] > 0 && from > lastFailed + 2 && from < pixels) failed.push([lastFailed = Math.max(0, from), lane]);
        if (to - from > 8 && from > 0) this.edges.push([from, lane]);
      }
      for (let x = 0, at = lane * pixels * 4; x < pixels; x++, at += 4) {
        let used = 0, most = 0, kind = 0;
        for (let index = 0, place = x * count; index < count; index++, place++) {
          const part = sums[place];
          used += part;
          if (part > most) { most = part; kind = index; }
        }
        const colour = classes[kind][1], share = used > 1 ? 1 : used;
        out[at] = paper[0] + (colour[0] - paper[0]) * share;
        out[at + 1] = paper[1] + (colour[1] - paper[1]) * share;
        out[at + 2] = paper[2] + (colour[2] - paper[2]) * share;
        out[at + 3] = 255;
      }
    }
    return failed;
  }

  // The first row of a lane that can reach into the view.
  before(lane, moment) {
    const { began } = this.columns;
    let low = this.firsts[lane], high = this.firsts[lane + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (began[middle] < moment) low = middle + 1; else high = middle;
    }
    return Math.max(this.firsts[lane], low - 2);
  }

  axes() {
    const { context, given } = this, bottom = this.top + this.step * this.lanes;
    context.strokeStyle = this.grid;
    context.strokeRect(LEFT + 0.5, this.top + 0.5, this.width - 1, this.step * this.lanes - 1);
    context.fillStyle = this.muted;
    context.font = "12px Helvetica, Arial, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(16 / this.step));
    for (let lane = 0; lane < this.lanes; lane += every) context.fillText(lane, LEFT - 8, this.top + (lane + 0.5) * this.step);
    context.save();
    context.translate(11, (this.top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText("lane", 0, 0);
    context.restore();
    const zero = this.inside ? this.inside.began : 0, wide = this.t1 - this.t0;
    const rough = (wide / Math.max(2, this.width / 110)) * given.quantum_ns, power = 10 ** Math.floor(Math.log10(rough));
    const step_ns = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough), step = step_ns / given.quantum_ns;
    context.textBaseline = "top";
    for (let moment = Math.ceil((this.t0 - zero) / step) * step; moment + zero <= this.t1; moment += step) {
      const x = LEFT + ((moment + zero - this.t0) / wide) * this.width;
      context.fillRect(x, bottom, 1, 5);
      if (x > LEFT + this.width - 24) continue;
      context.textAlign = "center";
      context.fillText(time(Math.round(moment / step) * step, given.quantum_ns, step_ns), x, bottom + 8);
    }
    context.textAlign = "center";
    context.fillText(this.inside ? "time since the cell began" : "time since the run began", LEFT + this.width / 2, bottom + 24);
  }

  map() {
    const { context } = this, scale = this.width / this.end;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = this.muted;
    context.fillText("cells", LEFT - 8, MAP / 2);
    this.cells.forEach((cell, index) => {
      const wide = Math.max(0.6, (cell.ended - cell.began) * scale - 0.4);
      context.fillStyle = `rgb(${this.classes.treatment[cell.treatment][1]})`;
      context.globalAlpha = index % 2 ? 0.45 : 0.7;
      context.fillRect(LEFT + cell.began * scale, 3, wide, MAP - 6);
    });
    context.globalAlpha = 1;
    context.strokeStyle = this.ink;
    context.lineWidth = 1.5;
    context.strokeRect(LEFT + Math.max(0, this.t0) * scale, 1, Math.max(3, (this.t1 - Math.max(0, this.t0)) * scale), MAP - 2);
    context.lineWidth = 1;
  }

  pointers() {
    const { canvas } = this, down = new Map();
    let moved = 0;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [(event.clientX - box.left - LEFT) / this.width, event.clientY - box.top];
    };
    canvas.addEventListener("wheel", (event) => {
      // Without a click or a key first the wheel belongs to the page.
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / this.width);
      else this.zoom(Math.exp(Math.max(-50, Math.min(50, event.deltaY)) / 150), place(event)[0]);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      const [x, y] = place(event);
      if (this.cells.length > 1 && y < MAP) { this.show(this.cells.find((cell) => cell.ended >= x * this.end)); return; }
      down.set(event.pointerId, x);
      moved = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (!down.has(event.pointerId)) { this.hover(x, y, event); return; }
      const before = down.get(event.pointerId);
      if (down.size === 2) {
        const [other] = [...down].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const wide = Math.abs(x - other);
        if (wide > 0.02) this.zoom(Math.abs(before - other) / wide, (x + other) / 2);
      } else this.pan(before - x);
      moved += Math.abs(x - before);
      down.set(event.pointerId, x);
    });
    const up = (event) => {
      down.delete(event.pointerId);
      if (moved < 0.003) this.hover(...place(event), event);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("dblclick", (event) => this.zoom(0.25, place(event)[0]));
  }

  pan(share) {
    const by = (this.t1 - this.t0) * share;
    this.look(this.t0 + by, this.t1 + by);
  }

  key(event) {
    const acts = {
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
      "-": () => this.zoom(2), 0: () => this.show(null), Escape: () => this.canvas.blur(),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    acts[event.key]();
  }

  find(x, y) {
    const lane = Math.floor((y - this.top) / this.step);
    if (lane < 0 || lane >= this.lanes || x < 0 || x > 1) return -1;
    const moment = this.t0 + x * (this.t1 - this.t0), { began, took } = this.columns;
    const slack = (this.t1 - this.t0) / this.width;
    for (let row = this.before(lane, moment); row < this.firsts[lane + 1] && began[row] <= moment + slack; row++) {
      if (began[row] + took[row] >= moment - slack) return row;
    }
    return -1;
  }

  hover(x, y, event) {
    const row = this.find(x, y);
    this.tip.hidden = row < 0;
    if (row < 0) return;
    const { columns, given } = this, at = (name) => columns[name][row], q = given.quantum_ns;
    const cell = this.ofCell.get(at("cell")), lines = [];
    const many = at("attempts") > 1, api = given.apis[at("api")] || "several requests";
    lines.push(many ? `${at("attempts")} × ${api}` : `${api}${at("status") ? `, status ${at("status")}` : ""}`);
    if (given.fates[at("fate")] !== "ok") lines.push(`failed: ${given.fates[at("fate")]}`);
    if (this.objects[at("object")]) lines.push(this.objects[at("object")]);
    if (at("kibibytes")) lines.push(`${at("kibibytes").toLocaleString("en-US")} KiB of payload`);
    lines.push(`lane ${at("lane")}, ${time(at("took"), q)} from ${time(at("began") - cell.began, q)}`);
    for (const [key, label] of given.phases) {
      if (at(key)) lines.push(`${label}: ${time(at(key), q)}`);
    }
    lines.push(`cell ${cell.label}`);
    this.tip.replaceChildren(...lines.map((line, index) => {
      const part = document.createElement(index ? "div" : "strong");
      part.textContent = line;
      return part;
    }));
    const box = this.root.querySelector(".lanes-stage").getBoundingClientRect();
    const right = event.clientX - box.left > box.width / 2;
    this.tip.style.left = right ? "auto" : `${event.clientX - box.left + 14}px`;
    this.tip.style.right = right ? `${box.right - event.clientX + 14}px` : "auto";
    this.tip.style.top = `${event.clientY - box.top + 14}px`;
  }
}

async function start() {
  for (const root of document.querySelectorAll(".lanes")) {
    const given = JSON.parse(document.getElementById(root.dataset.from).textContent);
    const [plain, names] = await Promise.all([inflate(given.data), inflate(given.objects)]);
    root.hidden = false;
    root.closest("figure").classList.add("live");
    root.lanes = new Lanes(root, given, plain, JSON.parse(new TextDecoder().decode(names)));
  }
}
// Where the browser cannot unpack it, the picture below stays.
start().catch((error) => console.warn("lanes are shown as a picture:", error));
})();
