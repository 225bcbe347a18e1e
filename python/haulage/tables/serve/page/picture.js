// Rows as a chart and on a map.
'use strict';

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/, TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;
const MOST_POINTS = 100_000;

// A value as a number; times as seconds since 1970.
const numeric = (value) => {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return null;
  if (NUMBER.test(value)) return Number(value);
  if (!TIME.test(value)) return null;
  const at = Date.parse(value.replace(/(\.\d{3})\d+/, '$1'));
  return Number.isNaN(at) ? null : at / 1e3;
};
const isTime = (rows, name) => rows.some((row) => typeof row[name] === 'string' && TIME.test(row[name]));
const numericColumns = (rows, names) => names.filter((name) => rows.some((row) => numeric(row[name]) !== null)
  && rows.every((row) => row[name] === undefined || numeric(row[name]) !== null));

const short = new Intl.NumberFormat('en', { notation: 'compact' });
let plot = null;
const drawChart = (rows, across, up) => {
  const pairs = rows.slice(0, MOST_POINTS).map((row, number) => [across ? numeric(row[across]) : number + 1, numeric(row[up])])
    .filter(([x, y]) => x !== null && y !== null).sort((one, other) => one[0] - other[0]);
  plot?.destroy();
  by('plot').replaceChildren();
  const timed = Boolean(across) && isTime(rows, across);
  plot = new uPlot({
    width: Math.max(260, by('plot').clientWidth), height: 220,
    scales: { x: { time: timed } },
    cursor: { drag: { x: true, y: false } },
    axes: [{ ...plotAxis(), space: 80 }, { ...plotAxis(), size: 70, values: (_, ticks) => ticks.map((tick) => (Math.abs(tick) >= 1e5 ? short.format(tick) : count(tick))) }],
    series: [{ label: across || 'row' }, { label: up, stroke: () => colour('--blue'), width: 1.5, points: { size: 4, fill: () => colour('--blue') } }],
  }, [pairs.map(([x]) => x), pairs.map(([, y]) => y)], by('plot'));
  const ys = pairs.map(([, y]) => y).reduce(([least, most], y) => [Math.min(least, y), Math.max(most, y)], [Infinity, -Infinity]);
  by('plot').setAttribute('aria-label', pairs.length ? `${up} against ${across || 'the row number'}: ${count(pairs.length)} points, from ${ys[0]} to ${ys[1]}` : 'no points');
  return pairs.length;
};

const LATITUDE = /^(lat|latitude|y_?lat)$/i, LONGITUDE = /^(lon|lng|long|longitude|x_?lon)$/i;
const coordinates = (names) => {
  const latitude = names.find((name) => LATITUDE.test(name)), longitude = names.find((name) => LONGITUDE.test(name));
  return latitude && longitude ? [latitude, longitude] : null;
};

// Degrees of the map, with a margin around the points; at least ten degrees high.
const frameOf = (points) => {
  if (!points.length) return [-180, -90, 180, 90];
  let [west, south, east, north] = [180, 90, -180, -90];
  for (const [x, y] of points) [west, south, east, north] = [Math.min(west, x), Math.min(south, y), Math.max(east, x), Math.max(north, y)];
  const high = Math.max(10, (north - south) * 1.3), wide = Math.max(high * 2, (east - west) * 1.3);
  const [x, y, half] = [(west + east) / 2, (south + north) / 2, Math.max(high, wide / 2) / 2];
  if (half >= 60) return [-180, -90, 180, 90];
  return [x - 2 * half, y - half, x + 2 * half, y + half];
};

const drawMap = (rows, [latitude, longitude]) => {
  const points = [];
  for (const row of rows.slice(0, MOST_POINTS)) {
    const x = numeric(row[longitude]), y = numeric(row[latitude]);
    if (x !== null && y !== null && Math.abs(y) <= 90 && Math.abs(x) <= 360) points.push([x > 180 ? x - 360 : x, y]);
  }
  const canvas = by('world'), wide = Math.max(260, canvas.clientWidth), high = Math.round(wide / 2), dense = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [wide * dense, high * dense];
  const [west, south, east, north] = frameOf(points), pen = canvas.getContext('2d');
  pen.scale(dense, dense);
  const place = ([x, y]) => [(x - west) / (east - west) * wide, (north - y) / (north - south) * high];
  const line = (ends, leaves = () => false) => ends.forEach((end, number) => (
    number && !leaves(end, ends[number - 1]) ? pen.lineTo(...place(end)) : pen.moveTo(...place(end))));
  // A coast that leaves the map at 180° goes on at its other side.
  const around = (end, before) => Math.abs(end[0] - before[0]) > 180;
  // A label takes up to 40 pixels.
  const most = Math.min(14, Math.floor(wide / 60));
  const step = [1, 2, 5, 10, 15, 30, 60, 90].find((degrees) => (east - west) / degrees <= most) ?? 90;
  pen.strokeStyle = colour('--grid');
  pen.fillStyle = colour('--muted');
  pen.font = '11px system-ui, sans-serif';
  pen.beginPath();
  for (let x = Math.ceil(west / step) * step; x <= east; x += step) {
    line([[x, south], [x, north]]);
    pen.fillText(`${x}°`, place([x, south])[0] + 3, high - 4);
  }
  for (let y = Math.ceil(south / step) * step; y <= north; y += step) {
    line([[west, y], [east, y]]);
    // The corner has the longitude.
    if (place([west, y])[1] < high - 8) pen.fillText(`${y}°`, 3, place([west, y])[1] - 3);
  }
  pen.stroke();
  pen.strokeStyle = colour('--muted');
  pen.beginPath();
  for (const coast of COAST) line(coast, around);
  pen.stroke();
  pen.fillStyle = colour('--blue');
  pen.globalAlpha = points.length > 2000 ? 0.45 : 0.8;
  for (const point of points) {
    const [x, y] = place(point);
    pen.beginPath();
    pen.arc(x, y, points.length > 2000 ? 1.6 : 3, 0, 7);
    pen.fill();
  }
  canvas.setAttribute('aria-label', `Map: ${count(points.length)} points between ${Math.round(south)}° and ${Math.round(north)}° north, ${Math.round(west)}° and ${Math.round(east)}° east`);
  return points.length;
};
