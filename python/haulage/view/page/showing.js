// Draws what is seen now: the maps in one view, the legends, the value under the pointer, the mean of what is seen.

import { bounded, fitted, moved, zoomed } from './projecting.js';
import { tableOf } from './colours.js';
import { drawLegend, valueText } from './legend.js';
import { gestures } from './gestures.js';
import { Panel } from './panel.js';
import { acrossOf } from './stepping.js';
import { now } from './viewing.js';

export const panels = {};
// What the page does when the view changes or a place is chosen; set once, by open().
let calls = {};
let drawn = null, frame = 0, measured = 0;

const shown = () => [panels.main, panels.other, panels.difference].filter((one) => one.slab);
const isApart = (panel) => panel === panels.difference;
export const coloursOf = (panel) => (isApart(panel) ? tableOf('RdBu_r', false) : tableOf(now.colours, now.reversed));
export const rangeFor = (panel) => (isApart(panel) ? now.apart : now.range);
const unitsOf = () => [now.variable.units, now.variable.long_name ?? now.variable.standard_name?.replaceAll('_', ' ') ?? now.variable.name].filter((one) => one && one !== '1');

export const redraw = () => {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(paint);
};
const paint = () => {
  if (!now.view) return;
  now.view = bounded(now.view, panels.main.size);
  for (const panel of shown()) panel.repaint();
  clearTimeout(measured);
  measured = setTimeout(measure, 150);
};
const legends = () => {
  for (const [id, panel] of [['legend', panels.main], ['difference-legend', panels.difference]]) {
    if (!panel.slab) continue;
    by(id).hidden = panel.nothing !== null;
    const { min, max } = panel.slab.head, range = rangeFor(panel);
    const [units, name] = unitsOf().length > 1 ? unitsOf() : ['', unitsOf()[0]];
    drawLegend(by(id), range, coloursOf(panel), isApart(panel) ? [units, 'difference'].filter(Boolean).join(', ') : [name, units && `in ${units}`].filter(Boolean).join(' '),
      [min !== null && min < range[0], max !== null && max > range[1]]);
  }
};

// The mean of what is seen, a moment after the view or the values have changed.
const measure = () => {
  const units = now.variable?.units && now.variable.units !== '1' ? ` ${now.variable.units}` : '', parts = [];
  for (const panel of shown()) {
    const seen = panel.seen(now.view), name = isApart(panel) ? 'Difference' : panel === panels.main ? (shown().length > 1 ? 'Left' : 'Mean of the visible area') : 'Right';
    if (panel === panels.main) now.window = seen;
    if (!seen) parts.push(`${name}: no ${panel.grid.points ? 'points' : 'cells'}`);
    else parts.push(`${name}: ${seen.mean === null ? 'no values' : `${valueText(Number(seen.mean.toPrecision(6)))}${units}`} (${count(seen.cells)} ${panel.grid.points ? 'point' : 'cell'}${seen.cells === 1 ? '' : 's'}${panel.grid.points || panel.grid.index ? '' : ' by area'}${seen.missing ? `, ${count(seen.missing)} missing` : ''})`);
  }
  const step = panels.main.painter.step;
  if (step > 1) parts.push(`One of ${count(step * step)} cells is shown`);
  by('seen').textContent = parts.join('; ');
  document.body.dataset.measured = String(Number(document.body.dataset.measured ?? 0) + 1);
};

const POINT = 'Point at the map, or hold a finger on it, to see the value; click or tap for the series and the profile.';
const east = (lon) => `${Math.abs(lon).toFixed(2)}° ${lon < 0 ? 'W' : 'E'}`;
const north = (lat) => `${Math.abs(lat).toFixed(2)}° ${lat < 0 ? 'S' : 'N'}`;
export const placeText = (place) => {
  const { grid } = panels.main;
  if (!grid?.index) return `${north(place[1])}, ${east(place[0])}`;
  return grid.indexOf(place).map((number, which) => `${acrossOf(now.variable)[which]} ${Math.floor(number)}`).join(', ');
};
// Says the values at a place, on all maps; nothing for null.
export const under = (place) => {
  const units = now.variable?.units && now.variable.units !== '1' ? ` ${now.variable.units}` : '';
  if (!place) {
    by('under').textContent = POINT;
    return;
  }
  const values = shown().map((panel) => {
    const found = panel.at(place);
    return found === null ? (panel.grid.points ? 'no point here' : 'outside the grid') : Number.isNaN(found.value) ? 'missing' : `${valueText(found.value)}${units}`;
  });
  const names = ['', 'right ', 'difference '];
  by('under').textContent = `${placeText(place)}: ${values.map((text, number) => names[number] + text).join('; ')}`;
};

// Takes what was gathered, and draws it.
export const present = (found, titles) => {
  drawn = found;
  for (const [name, part] of [['main', found.main], ['other', found.other], ['difference', found.difference]]) {
    const figure = panels[name].figure;
    figure.hidden = !part;
    panels[name].show(part?.grid ?? null, part?.slab ?? null, part ? titles[name] ?? '' : '');
  }
  by('maps').classList.toggle('compared', Boolean(found.other));
  if (!now.view) fit();
  if (!by('under').textContent) under(null);
  legends();
  redraw();
};
export const relegend = () => {
  if (!drawn) return;
  legends();
  redraw();
};
export const current = () => drawn;

// The polar map for what lies around a pole only.
export const suitedMap = ({ extent }) => {
  if (!extent || extent.east - extent.west < 300) return 'flat';
  return extent.south > 20 ? 'north' : extent.north < -20 ? 'south' : 'flat';
};
export const fit = (projection = now.view?.projection ?? suitedMap(panels.main.grid)) => {
  now.view = fitted(projection, panels.main.size, panels.main.grid?.extent);
  calls.viewed?.();
  redraw();
};
const change = (view) => {
  now.view = view;
  calls.viewed();
  redraw();
};
export const shift = (right, down) => change(moved(now.view, panels.main.size, right, down));
export const zoom = (factor, point = [panels.main.size.width / 2, panels.main.size.height / 2]) => change(zoomed(now.view, panels.main.size, factor, point));

// Makes the panels; called once. Raises Refused without WebGL.
export const open = (given) => {
  calls = given;
  for (const name of ['main', 'other', 'difference']) {
    const panel = panels[name] = new Panel(by(name), redraw);
    panel.repaint = () => panel.draw(now.view, rangeFor(panel), coloursOf(panel), now.cross ?? now.point);
    gestures(panel.surface, {
      move: shift,
      zoom,
      hover: (point) => under(point && panel.place(now.view, point)),
      choose: (point) => {
        const place = panel.place(now.view, point);
        if (place) calls.choose(place);
      },
      swipe: (steps) => calls.step(steps),
    });
  }
  new ResizeObserver(() => {
    relegend();
  }).observe(by('main'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
};
