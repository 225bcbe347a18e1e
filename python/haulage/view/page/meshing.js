// Cells as triangles for the graphics card: places, the cell that each belongs to, and the order.

// Cells that are drawn at most; of larger grids each second one, or fewer, and the page says so.
export const MOST_CELLS = 3_000_000;
// Wider parts of a cell would not follow the curves of the polar projections.
const WIDEST_DEGREES = 2, MOST_PARTS = 400_000;

// Points: a place for each, in order.
const dots = (grid) => {
  const places = new Float32Array(grid.nx * 2), cells = new Uint32Array(grid.nx), order = new Uint32Array(grid.nx), corners = new Float64Array(8);
  let known = 0;
  for (let cell = 0; cell < grid.nx; cell += 1) {
    cells[cell] = cell;
    if (!grid.corners(cell, corners)) continue;
    places.set([corners[0], corners[4]], cell * 2);
    order[known++] = cell;
  }
  return { places, cells, order, within: known, across: 0, step: 1 };
};

export const mesh = (grid) => {
  if (grid.points) return dots(grid);
  const step = Math.max(1, Math.ceil(Math.sqrt(grid.cells / MOST_CELLS))), drawn = [Math.ceil(grid.ny / step), Math.ceil(grid.nx / step)];
  const corners = new Float64Array(8), other = new Float64Array(8);
  const cornersOf = (y, x) => {
    const cell = y * grid.nx + x;
    if (!grid.corners(cell, corners)) return false;
    if (step === 1) return true;
    // A block of cells: its far corners are those of its last cells.
    const far = Math.min(y + step, grid.ny) - 1, right = Math.min(x + step, grid.nx) - 1;
    for (const [corner, at] of [[1, y * grid.nx + right], [2, far * grid.nx + right], [3, far * grid.nx + x]]) {
      if (!grid.corners(at, other)) return false;
      corners[corner] = other[corner] + 360 * Math.round((corners[0] - other[corner]) / 360);
      corners[4 + corner] = other[4 + corner];
    }
    return true;
  };
  // As many parts for every cell: where neighbours differ, cracks show between them.
  const split = () => {
    if (drawn[0] * drawn[1] > MOST_PARTS / 4) return 1;
    const spans = [], each = Math.max(1, Math.floor(grid.cells / 2000));
    for (let cell = 0; cell < grid.cells; cell += each) {
      if (grid.corners(cell, corners)) spans.push(Math.max(corners[0], corners[1], corners[2], corners[3]) - Math.min(corners[0], corners[1], corners[2], corners[3]));
    }
    spans.sort((one, next) => one - next);
    const most = Math.max(1, Math.floor(MOST_PARTS / (drawn[0] * drawn[1])));
    return Math.min(most, 180, Math.max(1, Math.ceil((spans[spans.length >> 1] ?? 0) / WIDEST_DEGREES - 0.1)));
  };
  const number = split();
  let parts = 0;
  const each = (visit) => {
    for (let j = 0; j < drawn[0]; j += 1) for (let i = 0; i < drawn[1]; i += 1) if (cornersOf(j * step, i * step)) visit(j * step * grid.nx + i * step);
  };
  each(() => (parts += number));
  const places = new Float32Array(parts * 8), cells = new Uint32Array(parts * 4), order = new Uint32Array(parts * 6);
  // Those that reach across 180 degrees come last: they alone are drawn on both sides of it.
  let at = 0, front = 0, back = parts;
  each((cell) => {
    for (let part = 0; part < number; part += 1, at += 1) {
      let across = false;
      for (let corner = 0; corner < 4; corner += 1) {
        const [left, right] = corner < 2 ? [0, 1] : [3, 2], share = (part + (corner === 1 || corner === 2)) / number;
        const lon = corners[left] + (corners[right] - corners[left]) * share;
        across ||= Math.abs(lon) > 180;
        places[at * 8 + corner * 2] = lon;
        places[at * 8 + corner * 2 + 1] = corners[4 + left] + (corners[4 + right] - corners[4 + left]) * share;
        cells[at * 4 + corner] = cell;
      }
      const slot = across ? (back -= 1) : front++;
      order.set([at * 4, at * 4 + 1, at * 4 + 2, at * 4, at * 4 + 2, at * 4 + 3], slot * 6);
    }
  });
  return { places, cells, order, within: front * 6, across: (parts - front) * 6, step };
};
