// What lies over the colours: coastlines, meridians and parallels with their names, and the cross.

import { copies, offPaper, onPaper, toScreen } from './projecting.js';

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 90];
const named = (degrees, [positive, negative]) => `${Number(Math.abs(degrees).toFixed(2))}°${degrees > 0 ? positive : degrees < 0 ? negative : ''}`;
const eastOf = (lon) => {
  const turned = ((lon + 180) % 360 + 360) % 360 - 180;
  return turned === -180 ? '180°' : named(turned, ['E', 'W']);
};
const SEAM = 180;

const line = (pen, points) => points.forEach(([x, y], number) => (number ? pen.lineTo(x, y) : pen.moveTo(x, y)));
// Pieces of a coast that stay on the paper, and do not jump around the world.
const coasts = (projection) => COAST.flatMap((points) => {
  const pieces = [[]];
  points.forEach((point, number) => {
    const before = points[number - 1], beyond = projection !== 'flat' && (projection === 'north' ? point[1] < -1 : point[1] > 1);
    if (before && (beyond || Math.abs(point[0] - before[0]) > SEAM)) pieces.push([]);
    if (!beyond) pieces.at(-1).push(onPaper(projection, ...point));
  });
  return pieces.filter((piece) => piece.length > 1);
});
const known = {};
const coastsOf = (projection) => (known[projection] ??= coasts(projection));

const flatGraticule = (pen, view, size, step) => {
  const [left, right] = [view.x - Math.min(view.span, 360) / 2, view.x + Math.min(view.span, 360) / 2];
  const half = view.span * size.height / size.width / 2, [south, north] = [Math.max(-90, view.y - half), Math.min(90, view.y + half)];
  const place = (x, y) => toScreen(view, size, [x, y]), names = [];
  pen.beginPath();
  for (let x = Math.ceil(left / step) * step; x <= right; x += step) {
    line(pen, [place(x, south), place(x, north)]);
    names.push([eastOf(Math.round(x * 100) / 100), place(x, south)[0] + 3, Math.min(size.height, place(x, south)[1]) - 4]);
  }
  for (let y = Math.ceil(south / step) * step; y <= north; y += step) {
    line(pen, [place(left, y), place(right, y)]);
    names.push([named(Math.round(y * 100) / 100, ['N', 'S']), Math.max(0, place(left, y)[0]) + 3, place(left, y)[1] - 3]);
  }
  pen.stroke();
  return names;
};
const polarGraticule = (pen, view, size, step) => {
  const sign = view.projection === 'north' ? 1 : -1, names = [], [middleX, middleY] = toScreen(view, size, [0, 0]);
  const place = (lon, lat) => toScreen(view, size, onPaper(view.projection, lon, sign * lat));
  pen.beginPath();
  for (let lat = 0; lat < 90; lat += step) {
    const [x, y] = place(0, lat), radius = Math.hypot(x - middleX, y - middleY);
    pen.moveTo(middleX + radius, middleY);
    pen.arc(middleX, middleY, radius, 0, 2 * Math.PI);
    if (lat) names.push([named(sign * lat, ['N', 'S']), x + 3, y - 3]);
  }
  for (let lon = -180; lon < 180; lon += 30) {
    line(pen, [place(lon, 0), place(lon, 90 - Math.min(step, 10))]);
    const [x, y] = place(lon, 3);
    names.push([eastOf(lon), x - 10, y + 4]);
  }
  pen.stroke();
  return names;
};

// Rows and columns of cells by index, with their numbers; dims as [y, x].
const ROUND = [1, 2, 5];
const indexGraticule = (pen, view, size, grid, dims) => {
  const cells = view.span / grid.wide, most = Math.max(4, size.width / 75);
  let step = 1;
  for (let power = 1; cells / step > most; power *= 10) for (const one of ROUND) if (cells / step > most) step = one * power;
  const place = (row, column) => toScreen(view, size, grid.placeOf(row, column)), names = [];
  const [left, bottom] = place(0, 0), [right, top] = place(grid.ny, grid.nx);
  pen.beginPath();
  for (let column = 0; column < grid.nx; column += step) {
    const [x] = place(0, column + 0.5);
    line(pen, [[x, top], [x, bottom]]);
    names.push([String(column), x + 3, Math.min(size.height, bottom) - 4]);
  }
  for (let row = 0; row < grid.ny; row += step) {
    const [, y] = place(row + 0.5, 0);
    line(pen, [[left, y], [right, y]]);
    names.push([String(row), Math.max(0, left) + 3, y - 3]);
  }
  pen.stroke();
  names.push([`${dims[1]} (index) →`, Math.max(3, left), Math.min(size.height - 4, bottom + 14)], [`${dims[0]} (index) ↑`, Math.max(3, left), Math.max(12, top - 5)]);
  return names;
};

// Says why there is no map.
export const blank = (canvas, size, colours, text) => {
  const dense = devicePixelRatio || 1, pen = canvas.getContext('2d');
  [canvas.width, canvas.height] = [Math.round(size.width * dense), Math.round(size.height * dense)];
  pen.scale(dense, dense);
  pen.fillStyle = colours.halo;
  pen.fillRect(0, 0, size.width, size.height);
  pen.fillStyle = colours.name;
  pen.font = '16px system-ui, sans-serif';
  pen.textAlign = 'center';
  pen.fillText(text, size.width / 2, size.height / 2, size.width - 16);
};

// Draws on a canvas over the map: colours { line, name, halo }; cross as [longitude, latitude] or null.
export const outline = (canvas, view, size, colours, cross, grid, dims) => {
  const dense = devicePixelRatio || 1, pen = canvas.getContext('2d');
  [canvas.width, canvas.height] = [Math.round(size.width * dense), Math.round(size.height * dense)];
  pen.scale(dense, dense);
  const degrees = view.projection === 'flat' ? view.span : view.span * 60;
  const step = STEPS.find((one) => degrees / one <= Math.max(4, size.width / 75)) ?? 90;
  pen.strokeStyle = colours.line;
  pen.lineJoin = 'round';
  pen.lineWidth = 0.6;
  pen.globalAlpha = 0.45;
  const names = grid?.index ? indexGraticule(pen, view, size, grid, dims) : view.projection === 'flat' ? flatGraticule(pen, view, size, step) : polarGraticule(pen, view, size, Math.max(1, Math.min(step, 30)));
  pen.globalAlpha = 1;
  pen.lineWidth = 1;
  if (!grid?.index) drawCoasts(pen, view, size, colours);
  pen.font = '11px system-ui, sans-serif';
  pen.lineWidth = 3;
  pen.strokeStyle = colours.halo;
  pen.fillStyle = colours.name;
  for (const [text, x, y] of names) {
    pen.strokeText(text, x, y);
    pen.fillText(text, x, y);
  }
  if (cross) drawCross(pen, view, size, colours, cross);
};
const drawCoasts = (pen, view, size, colours) => {
  pen.save();
  if (view.projection === 'flat') {
    const [from] = toScreen(view, size, [view.x - 180, 0]), [to] = toScreen(view, size, [view.x + 180, 0]);
    pen.beginPath();
    pen.rect(from, 0, to - from, size.height);
    pen.clip();
  }
  pen.beginPath();
  for (const turn of copies(view, -180, 180)) for (const piece of coastsOf(view.projection)) line(pen, piece.map(([x, y]) => toScreen(view, size, [x + turn, y])));
  // Light beside dark, so that a coast is seen on any colour.
  for (const [width, stroke, alpha] of [[2.6, colours.halo, 0.55], [1, colours.line, 1]]) {
    [pen.lineWidth, pen.strokeStyle, pen.globalAlpha] = [width, stroke, alpha];
    pen.stroke();
  }
  pen.restore();
};
const drawCross = (pen, view, size, colours, [longitude, latitude]) => {
  const near = view.projection === 'flat' ? longitude + 360 * Math.round((view.x - longitude) / 360) : longitude;
  const [x, y] = toScreen(view, size, onPaper(view.projection, near, latitude));
  if (offPaper(view.projection, ...onPaper(view.projection, near, latitude)) === null) return;
  for (const [width, stroke] of [[4, colours.halo], [1.6, colours.name]]) {
    pen.lineWidth = width;
    pen.strokeStyle = stroke;
    pen.beginPath();
    for (const [one, other] of [[[-11, 0], [-4, 0]], [[4, 0], [11, 0]], [[0, -11], [0, -4]], [[0, 4], [0, 11]]]) line(pen, [[x + one[0], y + one[1]], [x + other[0], y + other[1]]]);
    pen.stroke();
  }
};
