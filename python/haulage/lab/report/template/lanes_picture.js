// Draws lanes over time on a canvas. Every pixel is the sum of what its stretch of time went into, at any
// zoom, so that nothing is skipped and nothing depends on the order of drawing.
const LEFT = 52, MAP = 22, GAP = 10, AXIS = 40, MOST_HEIGHT = 420;

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

class Picture {
  constructor(given, plain) {
    this.given = given;
    this.columns = unpack(plain, given.rows, given.columns);
    this.lanes = given.lanes;
    // The phases of a row side by side: drawing reads all of them, for hundreds of thousands of rows a frame.
    const kinds = given.phases.map(([key]) => this.columns[key]), count = kinds.length;
    this.parts = new Float32Array(given.rows * count);
    kinds.forEach((column, kind) => {
      for (let row = 0; row < given.rows; row++) this.parts[row * count + kind] = column[row];
    });
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
  }

  readColours() {
    const styles = getComputedStyle(document.documentElement);
    const rgb = (colour) => {
      const text = colour.startsWith("var(") ? styles.getPropertyValue(colour.slice(4, -1)).trim() : colour;
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
    const { parts } = this, { began, took, fate, cell, failed: lost } = columns;
    const byPhase = mode === "phase", byCell = mode === "treatment";
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
        const first = from | 0;
        if (byPhase && from >= 0 && to < pixels && first === (to | 0)) {
          for (let phase = 0, place = first * count, part = row * count; phase < count; phase++) {
            sums[place++] += parts[part++] * scale;
          }
        } else if (byPhase) {
          let at = from;
          for (let phase = 0, part = row * count; phase < count; phase++, part++) {
            const long = parts[part] * scale;
            if (long > 0) { add(phase, at, at + long); at += long; }
          }
        } else add(byCell ? this.ofCell.get(cell[row]).treatment : fate[row], from, to);
        if (lost[row] > 0 && from > lastFailed + 2 && from < pixels) failed.push([lastFailed = Math.max(0, from), lane]);
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
}
