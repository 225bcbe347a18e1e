// The catalogue of the container and the variables of a file, as lists of buttons.

const KINDS = { netcdf3: 'NetCDF-3', netcdf4: 'NetCDF-4', netcdf: 'NetCDF', zarr: 'Zarr', rows: 'rows', unknown: '' };

// Arrow keys go from button to button within a list.
const walked = (list) => {
  list.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target.tagName !== 'BUTTON') return;
    const all = [...list.querySelectorAll('button')], next = all[all.indexOf(event.target) + step];
    next?.focus();
    event.preventDefault();
  });
};
for (const id of ['files', 'variables']) walked(by(id));

export const drawFiles = (found, more, chosen, choose) => {
  const itemOf = (file, facts, kind) => {
    const item = element('li', undefined, kind), button = item.appendChild(element('button'));
    button.type = 'button';
    button.dataset.name = file.name;
    button.append(element('span', file.name, 'name'), element('span', facts.filter(Boolean).join(' · '), 'facts'));
    if (file.name === chosen) button.setAttribute('aria-current', 'true');
    button.addEventListener('click', () => choose(file.name));
    return item;
  };
  // Files that belong together come first, as one.
  const items = found.series.map((one) => itemOf(one, [`${count(one.files)} files joined`, size(one.size)], 'series'));
  items.push(...found.files.map((file) => itemOf(file, [file.size && size(file.size), KINDS[file.kind] ?? file.kind])));
  if (more) by('files').append(...items);
  else by('files').replaceChildren(...items);
  by('more').hidden = !found.next;
  const current = by('files').querySelector('[aria-current]');
  if (current && !more) by('files').scrollTop = current.offsetTop - by('files').offsetTop;
  const shown = by('files').children.length - by('files').querySelectorAll('.series').length;
  by('found').textContent = `${count(found.total)} ${found.total === 1 ? 'file' : 'files'}${shown < found.total ? `, ${count(shown)} shown` : ''}${found.whole === false ? '; still listing …' : ''}`;
};
export const markFile = (name) => {
  for (const button of by('files').querySelectorAll('button')) {
    if (button.dataset.name === name) {
      button.setAttribute('aria-current', 'true');
      button.scrollIntoView({ block: 'nearest' });
    } else {
      button.removeAttribute('aria-current');
    }
  }
};

// Those that say where others lie are seldom what one wants to see.
export const isMain = (file, variable) => variable.drawn && !variable.helper && !/^(grid_)?(latitude|longitude)$/.test(variable.standard_name ?? '')
  && !file.variables.some((other) => String(other.attributes.coordinates ?? '').split(/\s+/).includes(variable.name));
const shapeOf = (variable) => variable.dims.map((dim, number) => `${dim.split('/').at(-1)} ${count(variable.shape[number])}`).join(' × ');
const buttonOf = (variable, chosen, choose) => {
  const button = element('button');
  button.type = 'button';
  button.dataset.path = variable.path;
  if (variable.path === chosen) button.setAttribute('aria-current', 'true');
  const name = element('span', variable.long_name ?? variable.standard_name?.replaceAll('_', ' ') ?? variable.name, 'name');
  button.append(name, element('span', [variable.name, variable.units && `in ${variable.units}`].filter(Boolean).join(', '), 'facts'));
  button.append(element('span', [shapeOf(variable), variable.cell_methods].filter(Boolean).join(' · '), 'facts'));
  for (const axis of variable.axes) if (axis.why_not && axis.name !== variable.path) button.append(element('span', `${axis.name} cannot be read: ${axis.why_not}`, 'why'));
  if (!variable.drawn) button.append(element('span', variable.why_not, 'why'));
  button.addEventListener('click', () => choose(variable.path));
  return button;
};

// Variables by group; those that only serve others, or cannot be drawn, come last and folded.
export const drawVariables = (file, chosen, choose) => {
  const groups = new Map();
  for (const variable of file.variables) groups.set(variable.group ?? '', [...(groups.get(variable.group ?? '') ?? []), variable]);
  const parts = [];
  for (const [group, all] of [...groups].sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (group && group !== '/') parts.push(element('h3', group));
    const list = element('ul'), rest = element('ul');
    for (const variable of all) (isMain(file, variable) ? list : rest).appendChild(element('li')).append(buttonOf(variable, chosen, choose));
    if (list.children.length) parts.push(list);
    if (rest.children.length) {
      const folded = element('details');
      folded.open = !list.children.length || all.some((one) => one.path === chosen && !isMain(file, one));
      folded.append(element('summary', `${count(rest.children.length)} more: coordinates, and variables that cannot be drawn as a map`), rest);
      parts.push(folded);
    }
  }
  const unread = Object.entries(file.left_out);
  if (unread.length) {
    const folded = element('details'), list = element('ul');
    folded.id = 'unread';
    folded.open = true;
    list.append(...unread.map(([path, why]) => {
      const item = element('li');
      item.append(element('span', path, 'name'), element('span', why, 'why'));
      return item;
    }));
    folded.append(element('summary', `${count(unread.length)} left out`), list);
    parts.push(folded);
  }
  if (!file.variables.length) parts.push(element('p', 'This file has no variables.', 'none'));
  by('variables').replaceChildren(...parts);
};
// Which files are shown as one, in order, and which of them do not fit.
const MOST_LINES = 200;
export const drawJoined = ({ joined }) => {
  by('joined').hidden = !joined;
  if (!joined) return;
  const wrong = Object.entries(joined.left_out), few = wrong.length === 1 ? '1 file does not fit' : `${count(wrong.length)} files do not fit`;
  by('joined').querySelector('summary').textContent = `${count(joined.files.length)} files joined along ${joined.along}${wrong.length ? `; ${few}` : ''}`;
  const lines = [...wrong.map(([name, why]) => [`${name} does not fit: ${why}`, 'why']), ...joined.files.map((file) => [`${file.name}: from step ${count(file.first + 1)}`])];
  const rest = lines.length > MOST_LINES ? [[`and ${count(lines.length - MOST_LINES)} more`]] : [];
  by('joined').querySelector('ul').replaceChildren(...[...lines.slice(0, MOST_LINES), ...rest].map(([text, kind]) => element('li', text, kind)));
};

export const drawAttributes = (pairs) => {
  by('attributes').replaceChildren(...Object.entries(pairs).flatMap(([name, value]) => [element('dt', name), element('dd', typeof value === 'object' ? JSON.stringify(value) : String(value))]));
};
