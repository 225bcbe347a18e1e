// The lanes as a person handles them: zoom, pan, hover, keys. Drawing is in lanes_picture.js, before this.
async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Lanes extends Picture {
  constructor(root, given, plain, objects) {
    super(given, plain);
    this.root = root;
    this.objects = objects;
    this.build();
    this.recolour();
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
    new ResizeObserver(() => this.fit()).observe(this.canvas.parentElement);
    document.addEventListener("themechange", () => { this.recolour(); this.later(); });
    this.fit();
  }

  recolour() {
    this.readColours();
    this.legend();
  }

  fit() {
    this.size();
    if (this.t1) this.draw();
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
    this.status.textContent = this.inside ? `Cell ${this.inside.label}` : `${seen.length} ${seen.length === 1 ? "cell" : "cells"}`;
    this.later();
  }

  zoom(factor, at = 0.5) {
    const centre = this.t0 + (this.t1 - this.t0) * at, wide = (this.t1 - this.t0) * factor;
    this.look(centre - wide * at, centre + wide * (1 - at));
  }

  later() {
    this.due ??= requestAnimationFrame(() => { this.due = undefined; this.draw(); });
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
