// The page: what is chosen, loaded and linked. All text becomes text nodes: names come from files of others.

import { ask, forget, onCost, Refused } from './asking.js';
import { DIVERGING, SCALES } from './colours.js';
import { repaintCharts, resizeCharts } from './charts.js';
import { keys } from './keys.js';
import { fromFragment, toFragment } from './linking.js';
import { drawAttributes, drawFiles, drawJoined, drawVariables, isMain, markFile } from './listing.js';
import { drawLine, drawPlace } from './placing.js';
import { prove, stopProof } from './proving.js';
import { PROJECTIONS } from './projecting.js';
import { codeOf, saveExport, savePicture } from './saving.js';
import { current, fit, open, panels, present, relegend, redraw, shift, under, zoom } from './showing.js';
import { drawSteps, labelOf, levelOf, Player, stepsOf, timeOf, updateSteps } from './stepping.js';
import { spend, total } from './spending.js';
import { isPassing, stopWaiting, whenBack } from './waiting.js';
import { ahead, choose, fileOf, files, gather, indexFor, now, rerange, suit, variableOf } from './viewing.js';

const PAGE = 200, AHEAD = 4, SLOW_MS = 3000;
const state = (kind, text = '') => {
  if (by('state').textContent !== text) by('state').textContent = text;
  document.body.dataset.state = kind;
};
let retry = () => location.reload();
const notice = (error, again) => {
  by('notice').hidden = !error;
  if (!error) return stopWaiting();
  const said = error instanceof Refused ? [error.message, error.hint && `hint: ${error.hint}`] : [`Error in this page: ${error.message}`, 'hint: reload it'];
  by('notice').querySelector('p').textContent = said.filter(Boolean).join('\n');
  retry = again ?? (() => location.reload());
  const passing = isPassing(error);
  state('failed', passing ? 'The requested view will appear as soon as the store responds.' : 'The requested view could not be drawn.');
  return passing ? whenBack(retry) : stopWaiting();
};
// A file that was replaced is opened anew, at the same view; whatever else failed is done once more.
const guarded = (act) => async (...given) => {
  try {
    return await act(...given);
  } catch (error) {
    player.stop();
    notice(error, error.status === 409 ? reopen : () => guarded(act)(...given));
    return false;
  }
};

// The fragment says what is seen; it is written a moment after the last change.
let writing = 0, written = '';
const seen = () => ({ ...now, path: now.variable?.path, beside: now.beside && { name: now.beside.name, path: now.beside.variable.path, index: now.beside.index } });
const link = () => {
  clearTimeout(writing);
  writing = setTimeout(writeLink, 200);
};
const writeLink = () => {
  clearTimeout(writing);
  written = toFragment(seen());
  history.replaceState(null, '', `#${written}`);
};

let turn = 0, since = null, mark = null;
// Says so if an answer takes long. If the store has gone away, the server says so soon after.
const patiently = async (answer) => {
  const slow = setTimeout(() => state('loading', 'Still reading …'), SLOW_MS);
  try {
    return await answer;
  } finally {
    clearTimeout(slow);
  }
};
// Loads and draws what is chosen; true if it was drawn, false if something newer came in between.
const load = async ({ anew = false } = {}) => {
  const mine = (turn += 1), before = since ?? total();
  since = null;
  if (player.dim === null) state('loading', 'Reading …');
  const found = await patiently(gather(now, now.beside));
  if (mine !== turn) return false;
  if (!panels.main) openMap();
  const { index } = found.main.grid;
  // Rows and columns are seen elsewhere than places.
  if ((index && now.view?.projection !== 'flat') || (current() && current().main.grid.index !== index)) now.view = null;
  notice(null);
  for (const id of ['map', 'take']) by(id).hidden = false;
  rerange(found, anew);
  present(found, { main: now.beside ? describe(now) : '', other: now.beside && describe(now.beside), difference: 'Difference: left minus right' });
  controls();
  link();
  const cost = total(before);
  const text = `This view: ${count(cost.requests)} ${cost.requests === 1 ? 'request' : 'requests'} to the store, ${size(cost.bytes)}, ${Math.round(cost.elapsed)} ms.${found.why ? ` ${found.why}` : ''}`;
  state('done', player.dim === null ? text : '');
  const along = player.dim ?? timeOf(now.variable)?.dim;
  if (along) ahead(along, player.dim ? AHEAD : 1);
  return true;
};
const describe = (one) => [one.name.split('/').at(-1), one.variable.name, ...stepsOf(one.variable).filter((axis) => axis.size > 1).map((axis) => labelOf(axis, one.index[axis.dim]))].join(', ');

const controls = () => {
  for (const [id, value] of [['projection', now.view.projection], ['scale', now.colours], ['how', now.how]]) by(id).value = value;
  by('reversed').checked = now.reversed;
  // What is being typed, or has to be corrected, stays, though values arrive meanwhile.
  ['low', 'high'].forEach((id, end) => { if (by(id) !== document.activeElement && by(id).validity.valid) by(id).value = Number(now.range[end].toPrecision(6)); });
  updateSteps(by('steps'), now.variable, now.index, player.dim);
  for (const id of ['alone', 'together-box', 'proof']) by(id).hidden = !now.beside;
  by('source').hidden = !mark || Boolean(now.beside) || now.name.startsWith(mark);
  by('title').textContent = now.variable.long_name ?? now.variable.standard_name?.replaceAll('_', ' ') ?? now.variable.name;
  const { grid } = current().main;
  by('projection').parentElement.hidden = grid.index;
  by('about').textContent = [describe(now), now.variable.cell_methods, grid.index && `drawn by index, because ${grid.why}`].filter(Boolean).join(' · ');
  by('main').querySelector('.surface').setAttribute('aria-label', `Map of ${by('title').textContent}, ${describe(now)}`);
  document.title = `${now.variable.name} - haul view`;
};
const draw = (found) => found && current() && relegend();

const openMap = () => {
  open({ viewed: link, choose: (place) => point(place), step });
  keys(panels.main.surface, { move: shift, zoom, fit: () => fit(), step, level, play: () => play(timeOf(now.variable)?.dim), project, cross,
    choose: () => point(now.cross ?? panels.main.place(now.view, [panels.main.size.width / 2, panels.main.size.height / 2])),
    search: () => by('search').focus(), help: () => by('keys').showModal() });
};

const moveTo = guarded(async (dim, place) => {
  now.index = { ...now.index, [dim]: place };
  const other = now.beside?.variable.axes.find((axis) => axis.dim === dim);
  if (other && by('together').checked) now.beside.index = { ...now.beside.index, [dim]: Math.min(place, other.size - 1) };
  updateSteps(by('steps'), now.variable, now.index, player.dim);
  return load();
});
const by_ = (axis, steps) => axis && moveTo(axis.dim, (now.index[axis.dim] + steps + axis.size) % axis.size);
const step = (steps) => by_(timeOf(now.variable), steps);
const level = (steps) => by_(levelOf(now.variable), steps);
const player = new Player(moveTo, () => now.variable && updateSteps(by('steps'), now.variable, now.index, player.dim));
const play = (dim) => {
  if (player.dim !== null || !dim) return player.stop();
  const axis = now.variable.axes.find((one) => one.dim === dim);
  return player.play(dim, axis.size, () => now.index[dim], () => {
    by('played').textContent = player.rate ? `${player.rate.toFixed(1)} steps per second` : '';
    return Number(by('rate').value);
  });
};
const project = (name) => {
  if (current()?.main.grid.index) return;
  now.view = null;
  fit(name);
  controls();
};
const cross = (right, down) => {
  const { width, height } = panels.main.size, from = now.cross ? panels.main.point(now.view, now.cross) : [width / 2, height / 2];
  const place = panels.main.place(now.view, [Math.max(0, Math.min(width, from[0] + right)), Math.max(0, Math.min(height, from[1] + down))]);
  if (!place) return;
  now.cross = place;
  under(place);
  redraw();
};
const point = guarded(async (place) => {
  [now.point, now.cross] = [place, null];
  redraw();
  link();
  await drawPlace(panels.main.at(place), place);
  notice(null);
});

const clearProof = () => {
  stopProof();
  by('proven').textContent = '';
  by('unequal').replaceChildren();
};
// On a narrow screen the lists are above the map, which is what one came for.
const toMap = () => matchMedia('(max-width: 860px)').matches && by('title').scrollIntoView();
const showVariable = guarded(async (path, asked = {}) => {
  player.stop();
  const fresh = await choose(now.name, path, asked.index ?? now.index);
  drawVariables(now.file, path, (other) => showVariable(other));
  drawAttributes({ ...now.variable.attributes, ...Object.fromEntries(Object.entries(now.file.attributes).map(([name, value]) => [`${name} (file)`, value])) });
  by('about-file').hidden = false;
  by('place').hidden = true;
  if (!now.variable.drawn) return showLine();
  by('line').hidden = true;
  if (fresh) {
    suit();
    [now.point, now.cross] = [null, null];
    if (!current() || current().main.grid !== now.grid) now.view = null;
  }
  Object.assign(now, Object.fromEntries(['colours', 'view', 'range'].filter((key) => asked[key]).map((key) => [key, asked[key]])));
  if (asked.how) [now.reversed, now.how] = [asked.reversed, asked.how];
  drawSteps(by('steps'), now.variable, () => now.index, { choose: moveTo, play });
  by('pace').hidden = !timeOf(now.variable);
  const done = await load({ anew: fresh });
  // Not before: without the map the page is too short to be moved so far.
  if (fresh) toMap();
  if (done) now.grid = current().main.grid;
  if (done && asked.point) await point(asked.point);
  return done;
});
// What has no place on a map: one dimension as a line; else why it is not drawn.
const showLine = async () => {
  for (const id of ['map', 'take']) by(id).hidden = true;
  by('title').textContent = now.variable.long_name ?? now.variable.name;
  by('about').textContent = now.variable.why_not;
  notice(null);
  toMap();
  by('line').hidden = !(await drawLine());
  link();
  state('done');
};
// What is worth a look although it has no place: numbers along a dimension of another name.
const isLine = (one) => one.dims.length === 1 && !one.helper && one.name !== one.dims[0].split('/').at(-1) && /^[fiu]/.test(one.dtype);
let opening = null;
const showFile = guarded(async (name, asked = {}) => {
  player.stop();
  [opening, since] = [name, total()];
  markFile(name);
  state('loading', 'Reading …');
  const file = await patiently(fileOf(name, true)), main = file.variables.filter((one) => isMain(file, one));
  const path = asked.path ?? main.find((one) => one.path === now.variable?.path)?.path ?? (main.find((one) => !one.by_index) ?? main[0] ?? file.variables.find((one) => one.drawn) ?? file.variables.find(isLine))?.path;
  Object.assign(now, { name, file });
  drawJoined(file);
  watch(file);
  clearProof();
  notice(null);
  if (path) return showVariable(path, asked);
  drawVariables(file, null, (other) => showVariable(other));
  for (const id of ['map', 'take', 'place', 'line']) by(id).hidden = true;
  by('title').textContent = name;
  by('about').textContent = 'No variable in this file can be drawn as a map; the list says why.';
  now.variable = null;
  link();
  return state('done');
});

let searching = 0, next = null;
const list = guarded(async (more = false) => {
  const mine = (searching += 1), found = await ask('catalogue', { search: by('search').value, after: more ? next : '', limit: PAGE });
  if (mine !== searching) return null;
  next = found.next;
  drawFiles(found, more, opening, (name) => showFile(name));
  if (found.whole === false) setTimeout(() => mine === searching && list(), 700);
  return found;
});

const fromAddress = guarded(async () => {
  const asked = fromFragment(location.hash);
  now.beside = null;
  if (asked.beside) {
    const file = await fileOf(asked.beside.name, true), variable = variableOf(file, asked.beside.path);
    now.beside = { name: asked.beside.name, file, variable, index: indexFor(variable, asked.beside.index), together: true };
  }
  now.variable = null;
  if (asked.name) return showFile(asked.name, asked);
  const found = await list();
  if (!found) return false;
  // A single file is what was meant.
  return found.total === 1 && found.whole !== false ? showFile(found.files[0].name) : state('ready');
});

// A table has no versions: it is asked for again from time to time, and drawn where its rows have changed.
const LIVE_MS = 10_000;
let watching = 0;
const watch = (file) => {
  clearTimeout(watching);
  if (!file.live) return;
  const began = performance.now();
  watching = setTimeout(async () => {
    if (document.hidden || player.dim !== null || file !== now.file) return file === now.file && watch(file);
    const asked = performance.now();
    try {
      const answer = await fetch(`api/file?${new URLSearchParams({ name: file.name })}`), found = answer.ok ? await answer.json() : file;
      if (file !== now.file) return undefined;
      if (found.etag !== file.etag) return reopen();
    } catch { /* It is said at the next click. */ }
    file.took = performance.now() - asked;
    return watch(file);
  }, Math.max(LIVE_MS, 10 * (file.took ?? 0)) - (performance.now() - began));
};
const reopen = () => {
  forget();
  files.clear();
  writeLink();
  return fromAddress();
};

const optionsOf = (id, pairs) => by(id).replaceChildren(...pairs.map(([value, text]) => Object.assign(element('option', text), { value })));
optionsOf('projection', Object.entries(PROJECTIONS));
optionsOf('scale', SCALES.map((name) => [name, DIVERGING.has(name) ? `${name}, around zero` : name]));
const on = (id, kind, act) => by(id).addEventListener(kind, act);
on('again', 'click', () => retry());
on('search', 'input', () => list());
on('more', 'click', () => list(true));
on('projection', 'change', () => project(by('projection').value));
on('scale', 'change', () => {
  now.colours = by('scale').value;
  rerange(current());
  controls();
  link();
  draw(true);
});
on('reversed', 'change', () => {
  now.reversed = by('reversed').checked;
  link();
  draw(true);
});
const corrected = () => ['low', 'high'].forEach((id) => by(id).setCustomValidity(''));
on('how', 'change', () => {
  corrected();
  now.how = by('how').value;
  rerange(current(), true);
  controls();
  link();
  draw(true);
});
for (const id of ['low', 'high']) on(id, 'blur', () => controls());
for (const id of ['low', 'high']) on(id, 'change', () => {
  const [low, high] = [Number(by('low').value), Number(by('high').value)];
  const wrong = !(Number.isFinite(low) && Number.isFinite(high) && low < high);
  by(id).setCustomValidity(wrong ? 'Enter two numbers, the first less than the second.' : '');
  if (wrong) return by(id).reportValidity();
  [now.how, now.range] = ['typed', [low, high]];
  corrected();
  rerange(current());
  controls();
  link();
  return draw(true);
});
on('in', 'click', () => zoom(1.5));
on('out', 'click', () => zoom(1 / 1.5));
on('fit', 'click', () => fit());
on('help', 'click', () => by('keys').showModal());
on('beside', 'click', guarded(() => {
  now.beside = { name: now.name, file: now.file, variable: now.variable, index: { ...now.index }, together: true };
  return load();
}));
on('source', 'click', guarded(async () => {
  const file = await fileOf(mark + now.name, true), variable = variableOf(file, now.variable.path);
  now.beside = { name: file.name, file, variable, index: indexFor(variable, now.index), together: true };
  return load();
}));
on('prove', 'click', guarded(() => prove(now.file, now.beside.file)));
on('alone', 'click', guarded(() => {
  clearProof();
  now.beside = null;
  return load();
}));
on('together', 'change', () => {
  now.beside.together = by('together').checked;
});
const across = (role) => now.variable.axes.find((axis) => axis.role === role).dim.split('/').at(-1);
const windowOf = () => {
  const found = panels.main.seen(now.view);
  if (!found) throw new Refused('No cells are visible.', 'choose Fit, or zoom out');
  return found;
};
const limits = ({ y0, y1, x0, x1 }) => ({ y0, y1, x0, x1 });
const took = (text) => {
  by('taken').textContent = text;
};
for (const format of ['csv', 'nc']) on(format, 'click', guarded(async () => {
  await saveExport(seen(), format, limits(windowOf()));
  took(`Saved as ${format === 'nc' ? 'NetCDF' : 'CSV'}: ${panels.main.grid.points ? 'the range of points that covers the visible area' : 'the rows and columns of the grid that cover the visible area'}.`);
}));
on('png', 'click', guarded(async () => {
  const all = [panels.main, panels.other, panels.difference].filter((one) => one.slab);
  await savePicture(seen(), all, by('legend'), [by('title').textContent, by('about').textContent]);
  took('Saved as PNG.');
}));
on('code', 'click', guarded(async () => {
  const { y0, y1, x0, x1 } = windowOf(), { nx, ny } = panels.main.grid, whole = y1 - y0 === ny && x1 - x0 === nx;
  by('lines').textContent = await codeOf(seen(), !whole, [...(panels.main.grid.points ? [] : [[across('y'), y0, y1]]), [across('x'), x0, x1]]);
  by('lines').hidden = false;
}));
on('link', 'click', guarded(async () => {
  writeLink();
  await navigator.clipboard.writeText(location.href);
  took('The link is on the clipboard. It works while this haul view runs.');
}));
addEventListener('hashchange', () => location.hash.slice(1) !== written && fromAddress());
addEventListener('resize', resizeCharts);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaintCharts);
document.addEventListener('visibilitychange', () => document.hidden && player.stop());
onCost(spend);

ask('info', {}).then((told) => {
  by('where').textContent = told.url;
  mark = told.beside;
  if (now.variable?.drawn && current()) controls();
}).catch(() => {});
if (location.hash.length > 1) list();
fromAddress();
