// What is seen now, and how it comes: grids and slabs of up to two data sets, their range, the next step ahead.

import { ask, framed, indexText, Refused } from './asking.js';
import { Grid } from './grid.js';
import { DIVERGING, rangeOf, suited } from './colours.js';
import { stepsOf, timeOf } from './stepping.js';

export const now = {
  name: null, file: null, variable: null, index: {}, beside: null, point: null,
  view: null, colours: null, reversed: false, how: 'percentiles', range: [0, 1], apart: [-1, 1],
};

export const files = new Map();
export const fileOf = async (name, fresh = false) => {
  if (fresh || !files.has(name)) files.set(name, await ask('file', { name }));
  return files.get(name);
};
export const variableOf = (file, path) => {
  const found = file.variables.find((one) => one.path === path);
  if (!found) throw new Refused(`${file.name} has no variable ${path}.`, 'choose one from the list');
  return found;
};
// The index within what the variable has: the first place of each axis that is not said.
export const indexFor = (variable, asked) => Object.fromEntries(stepsOf(variable).map(({ dim, size: length }) => [dim, Math.min(asked[dim] ?? 0, length - 1)]));

const queryOf = ({ name, variable, index }) => ({ name, var: variable.path, index: indexText(index) });
// The places of a nest that moves are those of the step that is drawn.
const stepOf = ({ variable, index }) => (variable.grid_along.length ? { index: indexText(Object.fromEntries(variable.grid_along.map((dim) => [dim, index[dim]]))) } : {});
// Places that stay from step to step are one grid: it is cut and sent to the card once.
let latest = null;
const alike = (one, other) => one.length === other.length && one.every((value, at) => Object.is(value, other[at]));
const gridFrom = (found) => {
  if (!latest || JSON.stringify(latest.head) !== JSON.stringify(found.head) || !alike(latest.data, found.data)) latest = { ...found, grid: new Grid(found) };
  return latest.grid;
};
const gridOf = (one) => framed('grid', { name: one.name, grid: one.variable.grid, ...stepOf(one) }, one.file.etag, gridFrom);
export const slabOf = (one, what = 'slab') => framed('slab', queryOf(one), one.file.etag, undefined, what);
const differenceOf = (one, other) => {
  const second = queryOf(other);
  return framed('difference', { ...queryOf(one), name2: second.name, var2: second.var, index2: second.index }, `${one.file.etag} ${other.file.etag}`);
};
const sameSize = (one, other) => one.nx === other.nx && one.ny === other.ny;

// All that is to be drawn: { main, other, difference }, each { grid, slab } or null; why there is no difference.
export const gather = async (one, beside) => {
  const both = beside ? [one, beside] : [one];
  const [grids, slabs] = await Promise.all([Promise.all(both.map(gridOf)), Promise.all(both.map((each) => slabOf(each)))]);
  const found = { main: { grid: grids[0], slab: slabs[0] }, other: null, difference: null, why: '' };
  if (!beside) return found;
  found.other = { grid: grids[1], slab: slabs[1] };
  if ((one.variable.units ?? '') !== (beside.variable.units ?? '')) found.why = 'No difference map: the units differ.';
  else if (!sameSize(...grids)) found.why = 'No difference map: the two are on different grids.';
  else {
    try {
      found.difference = { grid: grids[0], slab: await differenceOf(one, beside) };
    } catch (error) {
      if (error.status !== 400) throw error;
      found.why = `No difference map: ${error.message}.`;
    }
  }
  return found;
};

// The range stays while one steps along time, so that colours can be compared; else it is found anew.
let ranged = '';
export const rerange = (found, anew = false) => {
  const along = timeOf(now.variable)?.dim, still = Object.entries(now.index).filter(([dim]) => dim !== along);
  const key = JSON.stringify([now.name, now.variable.path, still, now.how, DIVERGING.has(now.colours), now.beside && [now.beside.name, now.beside.variable.path]]);
  if (key === ranged && !anew) return;
  ranged = key;
  const heads = [found.main, found.other].filter(Boolean).map((one) => one.slab.head).filter((head) => head.min !== null);
  const least = (part) => heads.map((head) => head[part]).reduce((a, b) => Math.min(a, b), Infinity), most = (part) => heads.map((head) => head[part]).reduce((a, b) => Math.max(a, b), -Infinity);
  const said = heads.length ? { min: least('min'), max: most('max'), p2: least('p2'), p98: most('p98') } : { min: null };
  if (now.how !== 'typed') now.range = rangeOf(said, now.how, DIVERGING.has(now.colours));
  if (found.difference) now.apart = rangeOf(found.difference.slab.head, now.how === 'typed' ? 'percentiles' : now.how, true);
};
export const choose = async (name, path, index = {}) => {
  const file = await fileOf(name), variable = variableOf(file, path);
  const before = now.variable && `${now.name} ${now.variable.path}`;
  Object.assign(now, { name, file, variable, index: indexFor(variable, index) });
  return before !== `${name} ${path}`;
};
export const suit = () => {
  now.colours = suited(now.variable);
  now.reversed = false;
  if (now.how === 'typed') now.how = 'percentiles';
};

// Asks for what comes next, so that it is there when it is wanted; nobody waits for it, nor minds if it fails.
export const ahead = (dim, steps) => {
  const axis = now.variable.axes.find((one) => one.dim === dim);
  if (!axis || axis.size < 2) return;
  for (let step = 1; step <= steps; step += 1) {
    const place = (now.index[dim] + step) % axis.size, next = { ...now, index: { ...now.index, [dim]: place } };
    slabOf(next, 'slab, ahead').catch(() => {});
    if (now.variable.grid_along.includes(dim)) gridOf(next).catch(() => {});
    if (now.beside?.together && now.beside.index[dim] !== undefined) slabOf({ ...now.beside, index: { ...now.beside.index, [dim]: place } }, 'slab, ahead').catch(() => {});
  }
};
