// The cells of a grid: their corners, which of them lies where, and how large each is. Or points, one row of them:
// they have a place and no corners.

import { turned } from './projecting.js';

const RADIANS = Math.PI / 180;
const BINS_X = 360, BINS_Y = 180;

export class Grid {
  // From an answer of /api/grid: corners, row by row; or edges, of grids too large for that.
  constructor({ head, data }) {
    this.nx = head.nx;
    this.ny = head.ny;
    // Cells without a place, drawn by row and column: their degrees are only where they are drawn.
    this.index = head.kind === 'index';
    this.flat = head.kind === 'rectilinear' || this.index;
    this.projection = head.projection;
    this.points = head.kind === 'points';
    // How near, in degrees, a place must be to a point; set where the map is drawn.
    this.near = 1;
    const edged = head.bounds === 'edges', lons = this.points ? this.nx : edged ? this.nx + 1 : (this.nx + 1) * (this.ny + 1);
    this.lon = data.subarray(0, lons);
    // Which cells have no place though their corners have: those whose latitude is missing, say.
    this.hidden = head.hidden ? data.subarray(data.length - this.cells) : null;
    this.lat = data.subarray(lons, data.length - (this.hidden?.length ?? 0));
    this.why = head.why_by_index ?? null;
    // How far it is to the next row and the next column, in lon and in lat.
    this.row = edged ? [0, 1] : [this.nx + 1, this.nx + 1];
    this.column = edged ? [1, 0] : [1, 1];
    this.extent = this.#extent();
    this.bins = null;
  }

  get cells() {
    return this.nx * this.ny;
  }

  // Writes the corners of a cell, around it, as four longitudes and four latitudes; false if one is unknown.
  corners(cell, into) {
    if (this.hidden?.[cell]) return false;
    if (this.points) {
      into.fill(turned(this.lon[cell]), 0, 4);
      into.fill(this.lat[cell], 4);
      return !Number.isNaN(into[0]) && !Number.isNaN(into[4]);
    }
    const j = Math.floor(cell / this.nx), i = cell - j * this.nx;
    for (let corner = 0; corner < 4; corner += 1) {
      const y = j + (corner > 1), x = i + (corner === 1 || corner === 2);
      into[corner] = this.lon[y * this.row[0] + x * this.column[0]];
      into[4 + corner] = this.lat[y * this.row[1] + x * this.column[1]];
    }
    let middle = 0;
    for (let corner = 0; corner < 4; corner += 1) {
      if (Number.isNaN(into[corner]) || Number.isNaN(into[4 + corner])) return false;
      if (!this.flat) into[corner] = into[0] + turned(into[corner] - into[0]);
      middle += into[corner] / 4;
    }
    const turn = turned(middle) - middle;
    for (let corner = 0; corner < 4; corner += 1) into[corner] += turn;
    return true;
  }

  // Longitude, latitude and area of a cell, into an array of three; false if unknown.
  middle(cell, into, corners) {
    if (!this.corners(cell, corners)) return false;
    let area = 0;
    [into[0], into[1]] = [0, 0];
    for (let one = 0, next = 1; one < 4; one += 1, next = (one + 1) % 4) {
      into[0] += corners[one] / 4;
      into[1] += corners[4 + one] / 4;
      // Exact on the sphere between meridians and parallels: the cylinder has the areas of the ball.
      area += corners[one] * Math.sin(corners[4 + next] * RADIANS) - corners[next] * Math.sin(corners[4 + one] * RADIANS);
    }
    into[2] = this.points || this.index ? 1 : Math.abs(area) / 2;
    return true;
  }

  // Of cells by index: the row and the column at a place, with parts of one; and where those are drawn.
  placeOf(row, column) {
    return [this.lon[0] + column * this.wide, this.lat[0] + row * this.wide];
  }
  indexOf([x, y]) {
    return [(y - this.lat[0]) / this.wide, (x - this.lon[0]) / this.wide];
  }
  get wide() {
    return (this.lon[this.nx * this.column[0]] - this.lon[0]) / this.nx;
  }

  // The cell at a place, as { cell, y, x }; null if none is.
  at(longitude, latitude) {
    const cell = this.points ? this.#nearest(longitude, latitude) : this.flat ? this.#between(longitude, latitude) : this.#within(longitude, latitude);
    return cell < 0 || this.hidden?.[cell] ? null : { cell, y: Math.floor(cell / this.nx), x: cell % this.nx };
  }

  #nearest(longitude, latitude) {
    let [found, least] = [-1, this.near * this.near];
    const narrow = Math.cos(latitude * RADIANS);
    for (let cell = 0; cell < this.nx; cell += 1) {
      const [x, y] = [turned(this.lon[cell] - longitude) * narrow, this.lat[cell] - latitude], away = x * x + y * y;
      if (away <= least) [found, least] = [cell, away];
    }
    return found;
  }

  #between(longitude, latitude) {
    const [first, last] = [this.lon[0], this.lon[this.nx * this.column[0]]];
    const [low, high] = [Math.min(first, last), Math.max(first, last)];
    const lon = longitude + 360 * Math.ceil((low - longitude) / 360);
    if (lon > high) return -1;
    const x = bisect(this.nx, (number) => this.lon[number * this.column[0]], lon);
    const y = bisect(this.ny, (number) => this.lat[number * this.row[1]], latitude);
    return x < 0 || y < 0 ? -1 : y * this.nx + x;
  }

  #within(longitude, latitude) {
    this.bins ??= this.#binned();
    const bin = binOf(latitude, BINS_Y, 90) * BINS_X + binOf(turned(longitude), BINS_X, 180), corners = new Float64Array(8);
    for (let at = this.bins.start[bin]; at < this.bins.start[bin + 1]; at += 1) {
      const cell = this.bins.cells[at];
      if (this.corners(cell, corners) && inside(corners, longitude, latitude)) return cell;
    }
    return -1;
  }

  // For each square degree the cells that may touch it.
  #binned() {
    const start = new Uint32Array(BINS_X * BINS_Y + 1), corners = new Float64Array(8);
    const each = (visit) => {
      for (let cell = 0; cell < this.cells; cell += 1) {
        if (!this.corners(cell, corners)) continue;
        const west = Math.floor(Math.min(corners[0], corners[1], corners[2], corners[3])), east = Math.floor(Math.max(corners[0], corners[1], corners[2], corners[3]));
        const south = binOf(Math.min(corners[4], corners[5], corners[6], corners[7]), BINS_Y, 90), north = binOf(Math.max(corners[4], corners[5], corners[6], corners[7]), BINS_Y, 90);
        for (let y = south; y <= north; y += 1) for (let x = west; x <= Math.min(east, west + 359); x += 1) visit(y * BINS_X + (((x + 180) % 360) + 360) % 360, cell);
      }
    };
    each((bin) => (start[bin + 1] += 1));
    for (let bin = 0; bin < start.length - 1; bin += 1) start[bin + 1] += start[bin];
    const next = start.slice(), cells = new Uint32Array(start.at(-1));
    each((bin, cell) => (cells[next[bin]++] = cell));
    return { start, cells };
  }

  // { west, east, south, north } of all cells; east may be beyond 180 where they lie across the date line.
  #extent() {
    const taken = new Uint8Array(360), corners = new Float64Array(8), rows = Math.max(1, Math.floor(this.cells / 1e6));
    let [south, north] = [90, -90], [low, high] = [Infinity, -Infinity];
    for (let cell = 0; cell < this.cells; cell += rows) {
      if (!this.corners(cell, corners)) continue;
      for (let corner = 0; corner < 4; corner += 1) {
        south = Math.min(south, corners[4 + corner]);
        north = Math.max(north, corners[4 + corner]);
      }
      const west = Math.min(corners[0], corners[1], corners[2], corners[3]), east = Math.max(corners[0], corners[1], corners[2], corners[3]);
      [low, high] = [Math.min(low, west), Math.max(high, east)];
      for (let x = Math.floor(west); x < Math.min(Math.max(east, Math.floor(west) + 1), west + 360); x += 1) taken[(((x + 180) % 360) + 360) % 360] = 1;
    }
    if (low > high) return null;
    let gap = 0, after = 0;
    for (let from = 0; from < 360; from += 1) {
      let wide = 0;
      while (wide < 360 && !taken[(from + wide) % 360]) wide += 1;
      if (wide > gap) [gap, after] = [wide, from + wide];
    }
    // Nothing across the date line: the corners themselves; else whole degrees.
    if (low >= -180 && high <= 180 && (gap < 10 || (taken[0] && !taken[359]) || !taken[0])) return { west: low, east: high, south, north };
    if (gap < 10) return { west: -180, east: 180, south, north };
    const west = turned(after - 180);
    return { west, east: west + 360 - gap, south, north };
  }
}

const binOf = (degrees, bins, most) => Math.max(0, Math.min(bins - 1, Math.floor(degrees + most)));

// Between which two of size + 1 edges, rising or falling, a value lies; -1 if beyond them.
const bisect = (size, edge, value) => {
  const rising = edge(size) >= edge(0);
  const before = (number) => (rising ? edge(number) <= value : edge(number) >= value);
  if (!before(0) || (before(size) && edge(size) !== value)) return -1;
  let [low, high] = [0, size];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (before(middle)) low = middle;
    else high = middle;
  }
  return low;
};

const inside = (corners, longitude, latitude) => {
  const near = longitude + 360 * Math.round((corners[0] - longitude) / 360);
  let odd = false;
  for (let one = 0, before = 3; one < 4; before = one, one += 1) {
    const [y, y0] = [corners[4 + one], corners[4 + before]];
    if (y > latitude !== y0 > latitude && near < (corners[before] - corners[one]) * (latitude - y) / (y0 - y) + corners[one]) odd = !odd;
  }
  return odd;
};
