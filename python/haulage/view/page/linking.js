// What is seen as the fragment of the address, and back. Pure functions.

import { PROJECTIONS } from './projecting.js';
import { SCALES } from './colours.js';

const indexOf = (text) => Object.fromEntries((text ?? '').split(',').filter(Boolean).map((part) => {
  const at = part.lastIndexOf(':');
  return [part.slice(0, at), Number(part.slice(at + 1))];
}).filter(([dim, place]) => dim && Number.isInteger(place) && place >= 0));
const indexText = (index) => Object.entries(index).map(([dim, place]) => `${dim}:${place}`).join(',');
const numbersOf = (text, length) => {
  const found = (text ?? '').split(',').map(Number);
  return text && found.length === length && found.every(Number.isFinite) ? found : null;
};
const short = (number) => Number(number.toPrecision(7));

// seen: { name, path, index, view, colours, reversed, how, range, beside: { name, path, index }, point }
export const toFragment = (seen) => {
  const parts = new URLSearchParams();
  const put = (key, value) => value !== null && value !== undefined && value !== '' && parts.set(key, value);
  put('file', seen.name);
  put('var', seen.path);
  put('at', indexText(seen.index ?? {}));
  if (seen.view) {
    put('map', seen.view.projection);
    put('view', [seen.view.x, seen.view.y, seen.view.span].map(short).join(','));
  }
  put('colours', seen.colours);
  if (seen.reversed) put('reversed', 1);
  put('range', seen.how === 'typed' ? seen.range.map(short).join(',') : seen.how);
  put('point', seen.point?.map(short).join(','));
  if (seen.beside) {
    put('file2', seen.beside.name);
    put('var2', seen.beside.path);
    put('at2', indexText(seen.beside.index));
  }
  return parts.toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%2F', '/');
};

export const fromFragment = (text) => {
  const parts = new URLSearchParams(text.replace(/^#/, '')), get = (key) => parts.get(key);
  const place = numbersOf(get('view'), 3), projection = get('map'), range = numbersOf(get('range'), 2);
  return {
    name: get('file'),
    path: get('var'),
    index: indexOf(get('at')),
    view: place && place[2] > 0 && Object.hasOwn(PROJECTIONS, projection) ? { projection, x: place[0], y: place[1], span: place[2] } : null,
    colours: SCALES.includes(get('colours')) ? get('colours') : null,
    reversed: get('reversed') === '1',
    how: range && range[0] < range[1] ? 'typed' : get('range') === 'all' ? 'all' : 'percentiles',
    range: range && range[0] < range[1] ? range : null,
    point: numbersOf(get('point'), 2),
    beside: get('file2') && get('var2') ? { name: get('file2'), path: get('var2'), index: indexOf(get('at2')) } : null,
  };
};
