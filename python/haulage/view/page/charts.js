// Lines of one place: along time, and along height or depth.

import { valueText } from './legend.js';

const drawn = new Map();
const HEIGHT = 240;
const numbers = (labels) => {
  const found = labels.map(Number);
  return found.every(Number.isFinite) && new Set(found).size === found.length ? found : null;
};

const COLOURS = ['--blue', '--warn'];
const plotOf = (into, chart) => {
  const upright = chart.role === 'level', along = (upright && numbers(chart.labels)) || chart.labels.map((_, number) => number);
  const counted = !(upright && numbers(chart.labels));
  const order = along.map((_, number) => number).sort((one, other) => along[one] - along[other]);
  const data = [order.map((number) => along[number]), ...chart.lines.map((line) => order.map((number) => line.values[number] ?? null))];
  const labelAt = (at) => (counted ? chart.labels[Math.round(at)] ?? '' : String(at));
  const width = Math.max(240, into.clientWidth);
  const short = (at) => (counted && Number.isInteger(at) ? labelAt(at).replace(/T00:00(:00)?Z?$| 00:00(:00)?$/, '') : counted ? '' : String(at));
  const axes = [
    { ...plotAxis(), space: upright ? 30 : 110, values: (_, ticks) => ticks.map(short), ...(upright ? { side: 3, size: 80 } : {}) },
    { ...plotAxis(), label: chart.units, labelSize: 18, labelFont: '12px system-ui, sans-serif', values: (_, ticks) => ticks.map(valueText), ...(upright ? { side: 2, space: 70 } : { size: 70 }) },
  ];
  const series = [
    { label: chart.name, value: (_, at) => (at === null ? '' : labelAt(at)) },
    ...chart.lines.map((line, number) => ({ label: line.name, stroke: () => colour(COLOURS[number]), width: 1.6, points: { size: 4, fill: () => colour(COLOURS[number]) },
      spanGaps: false, value: (_, value) => (value === null ? '' : valueText(value)) })),
  ];
  const scales = { x: { time: false, ...(upright ? { ori: 1, dir: chart.down ? -1 : 1 } : {}) }, y: upright ? { ori: 0 } : {} };
  return new uPlot({ width, height: upright ? HEIGHT + 60 : HEIGHT, scales, axes, series, cursor: { drag: { x: !upright, y: upright } } }, data, into);
};

// A chart: { name, role, down, labels, units, title, lines: [{ name, values }] }.
export const drawCharts = (into, charts) => {
  for (const plot of drawn.values()) plot.destroy();
  drawn.clear();
  into.replaceChildren(...charts.map((chart) => {
    const box = element('div', undefined, 'chart'), plot = element('div');
    box.append(element('h3', chart.title), plot);
    plot.setAttribute('role', 'img');
    const known = chart.lines.flatMap((line) => line.values.filter((value) => value !== null));
    plot.setAttribute('aria-label', known.length
      ? `${chart.title}: ${count(known.length)} values from ${valueText(known.reduce((a, b) => Math.min(a, b)))} to ${valueText(known.reduce((a, b) => Math.max(a, b)))} ${chart.units}`
      : `${chart.title}: no values`);
    return box;
  }));
  charts.forEach((chart, number) => drawn.set(number, plotOf(into.children[number].lastChild, chart)));
};
export const resizeCharts = () => {
  for (const plot of drawn.values()) plot.setSize({ width: Math.max(240, plot.root.parentElement.clientWidth), height: plot.height });
};
export const repaintCharts = () => {
  for (const plot of drawn.values()) plot.redraw();
};
