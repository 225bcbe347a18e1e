// Charts of one place: the exact value, its series and its profile; and variables of one dimension as a line.

import { ask, indexText } from './asking.js';
import { drawCharts } from './charts.js';
import { placeText } from './showing.js';
import { stepsOf } from './stepping.js';
import { now } from './viewing.js';

const NAMES = { time: 'Series', level: 'Profile', other: 'Along' };
const queryOf = (one, cell) => ({ name: one.name, var: one.variable.path, index: indexText(one.index), y: cell.y, x: cell.x });
const facts = (pairs) => by('exact').replaceChildren(...pairs.filter(([, value]) => value).map(([name, value]) => {
  const pair = element('div');
  pair.append(element('dt', name), element('dd', String(value)));
  return pair;
}));

let turn = 0;
// Draws what is at a cell; a newer call wins.
export const drawPlace = async (cell, place) => {
  const mine = (turn += 1), { name, variable, index, beside } = now;
  by('place').hidden = false;
  if (!cell) {
    facts([['Location', placeText(place)], ['Value', now.variable.axes.some((axis) => axis.role === 'y') ? 'outside the grid' : 'no point here']]);
    drawCharts(by('charts'), []);
    return;
  }
  const one = { name, variable, index }, longer = stepsOf(variable).filter((axis) => axis.size > 1);
  // On the same grid the other data set has its line too.
  const same = beside && beside.variable.grid === variable.grid && beside.variable.shape.join() === variable.shape.join() ? beside : null;
  const along = (of, axis) => ask('series', { ...queryOf(of, cell), along: axis.dim });
  const [value, ...found] = await Promise.all([
    ask('value', queryOf(one, cell)),
    ...longer.map((axis) => Promise.all([along(one, axis), ...(same ? [along(same, axis)] : [])])),
  ]);
  if (mine !== turn) return;
  const units = value.units && value.units !== '1' ? value.units : '';
  facts([
    ['Place', placeText(place)],
    [variable.axes.some((axis) => axis.role === 'y') ? 'Cell centre' : 'Point', value.lon === null ? '' : placeText([value.lon, value.lat])],
    ['Value', value.value === null ? 'missing' : [value.text, units].filter(Boolean).join(' ')],
    ['Type', value.dtype === value.stored_dtype ? value.dtype : `${value.dtype}, stored as ${value.stored_dtype} ${value.stored}`],
    ['Row and column', `${cell.y}, ${cell.x}`],
  ]);
  drawCharts(by('charts'), longer.map((axis, number) => ({
    name: axis.dim,
    role: axis.role,
    down: axis.positive === 'down' || /depth/.test(axis.dim) || /^(hpa|pa|mbar|millibars?)$/i.test(axis.units ?? ''),
    labels: found[number][0].labels,
    units: [variable.name, units && `(${units})`].filter(Boolean).join(' '),
    title: `${NAMES[axis.role]} ${axis.role === 'other' ? axis.dim : `along ${axis.name?.split('/').at(-1) ?? axis.dim}`}${axis.units && axis.role === 'level' ? `, ${axis.units}` : ''}`,
    lines: found[number].map((line, which) => ({ name: which ? `${same.name.split('/').at(-1)}, ${same.variable.name}` : variable.name, values: line.values })),
  })));
};

// Draws a variable of one dimension; whether it could.
export const drawLine = async () => {
  const { name, variable } = now;
  if (variable.dims.length !== 1 || /^[SUO]|string/.test(variable.dtype)) return false;
  const axis = variable.axes[0], told = await ask('labels', { name, var: variable.path });
  if (now.variable !== variable || !told.labels) return false;
  const values = told.labels.map((label) => (label === null || label === '' || Number.isNaN(Number(label)) ? null : Number(label)));
  if (values.every((value) => value === null)) return false;
  by('line').hidden = false;
  drawCharts(by('line-chart'), [{
    name: axis.dim, role: axis.role === 'level' && axis.name !== variable.path ? 'level' : 'other', down: axis.positive === 'down', labels: axis.name !== variable.path && axis.labels ? axis.labels : values.map((_, number) => String(number + 1)),
    units: [variable.name, variable.units && `(${variable.units})`].filter(Boolean).join(' '), title: variable.long_name ?? variable.name, lines: [{ name: variable.name, values }],
  }]);
  return true;
};
