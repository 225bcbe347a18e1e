// One map: its canvas, what lies over it, and what it holds. There are up to three, in one view.

import { onPaper, fromScreen, offPaper, turned, toScreen } from './projecting.js';
import { blank, outline } from './outlining.js';
import { Painter, pointSize } from './painting.js';
import { acrossOf } from './stepping.js';
import { now } from './viewing.js';

export class Panel {
  constructor(figure, again) {
    this.figure = figure;
    this.surface = figure.querySelector('.surface');
    this.over = figure.querySelector('.over');
    this.title = figure.querySelector('figcaption');
    this.painter = new Painter(figure.querySelector('.cells'), again);
    this.grid = this.slab = null;
  }

  get size() {
    return { width: Math.max(1, this.surface.clientWidth), height: Math.max(1, this.surface.clientHeight) };
  }

  // Takes a grid and a slab { head, data }, or null for nothing.
  show(grid, slab, title) {
    [this.grid, this.slab] = [grid, slab];
    this.title.textContent = title;
    if (slab) this.painter.show(grid, slab);
    else this.painter.clear();
  }

  // Why there is no map; null if there is one.
  get nothing() {
    if (!this.slab) return null;
    return this.slab.head.min === null ? 'No values' : null;
  }

  draw(view, range, colours, cross) {
    const size = this.size, named = { line: colour('--ink'), name: colour('--ink'), halo: colour('--paper') };
    // Half a point, and a finger's error.
    if (this.grid?.points) this.grid.near = (pointSize(this.grid.nx) / 2 + 4) * (view.projection === 'flat' ? view.span : view.span * 60) / size.width;
    this.painter.draw(view, size, range, colours);
    if (this.nothing) blank(this.over, size, named, this.nothing);
    else outline(this.over, view, size, named, cross, this.grid, acrossOf(now.variable));
  }

  // Longitude and latitude under a point of the screen; null beyond the world.
  place(view, point) {
    const paper = fromScreen(view, this.size, point);
    if (view.projection === 'flat' && Math.abs(paper[0] - view.x) > 180) return null;
    return offPaper(view.projection, ...paper);
  }

  // The cell at a place with its value; null where there is none, value NaN where it is missing.
  at(place) {
    const found = place && this.grid ? this.grid.at(...place) : null;
    return found && { ...found, value: this.slab.data[found.cell] };
  }

  // Of the cells whose middle is seen: how many, their mean by area, and the window of rows and columns around them.
  seen(view) {
    const { grid, slab } = this, size = this.size, middle = new Float64Array(3), corners = new Float64Array(8);
    const found = { cells: 0, missing: 0, mean: null, y0: Infinity, y1: -1, x0: Infinity, x1: -1 };
    let [sum, weight] = [0, 0];
    const half = [view.span / 2, view.span * size.height / size.width / 2];
    for (let cell = 0; cell < grid.cells; cell += 1) {
      if (!grid.middle(cell, middle, corners)) continue;
      const [x, y] = onPaper(view.projection, middle[0], middle[1]);
      const away = view.projection === 'flat' ? turned(x - view.x) : x - view.x;
      if (Math.abs(away) > half[0] || Math.abs(y - view.y) > half[1] || (view.projection !== 'flat' && x * x + y * y > 1)) continue;
      const row = Math.floor(cell / grid.nx), column = cell - row * grid.nx, value = slab.data[cell];
      [found.y0, found.y1] = [Math.min(found.y0, row), Math.max(found.y1, row + 1)];
      [found.x0, found.x1] = [Math.min(found.x0, column), Math.max(found.x1, column + 1)];
      if (Number.isFinite(value)) {
        found.cells += 1;
        sum += value * middle[2];
        weight += middle[2];
      } else {
        found.missing += 1;
      }
    }
    if (weight) found.mean = sum / weight;
    return found.y1 < 0 ? null : found;
  }

  // Where a place is on the screen.
  point(view, [longitude, latitude]) {
    const near = view.projection === 'flat' ? longitude + 360 * Math.round((view.x - longitude) / 360) : longitude;
    return toScreen(view, this.size, onPaper(view.projection, near, latitude));
  }
}
