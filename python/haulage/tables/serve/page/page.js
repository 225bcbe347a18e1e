// The page: what is asked, the rows that came, what they took. All text becomes text nodes.
'use strict';

const SHOWN = 1000, KEPT = 200_000;
const now = { rows: [], names: [], chosen: new Set(), order: null, pages: [null], next: null, costs: [], stop: null };

const notice = (text) => {
  by('notice').hidden = !text;
  if (by('notice').textContent !== text) by('notice').textContent = text;
};
const state = (kind, text) => {
  by('state').textContent = text;
  document.body.dataset.state = kind;
};
const milliseconds = (value) => (value >= 1e4 ? duration(value * 1e6) : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`);

const asked = () => ({
  $filter: by('filter').value.trim(),
  $select: by('select').value.trim(),
  $orderby: now.order ? `${now.order.name}${now.order.descending ? ' desc' : ''}` : '',
});
const valueOf = (value) => (value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));
const isProperty = (name) => !name.startsWith('odata.') && !name.endsWith('@odata.type');
const learnNames = (rows) => {
  const known = new Set(now.names);
  for (const row of rows) for (const name of Object.keys(row)) if (isProperty(name)) known.add(name);
  now.names = [...known];
};
const selected = () => (now.chosen.size ? now.rows.filter((_, number) => now.chosen.has(number)) : now.rows);

const headOf = () => {
  const head = element('thead'), top = head.appendChild(element('tr'));
  top.appendChild(element('th', 'Draw')).scope = 'col';
  for (const name of now.names) {
    const cell = top.appendChild(element('th')), button = cell.appendChild(element('button', name));
    cell.scope = 'col';
    cell.setAttribute('aria-sort', now.order?.name === name ? (now.order.descending ? 'descending' : 'ascending') : 'none');
    button.type = 'button';
    button.title = `Sort by ${name}`;
    button.addEventListener('click', () => sortBy(name));
  }
  return head;
};
const lineOf = (row, number) => {
  const line = element('tr'), box = line.appendChild(element('td')).appendChild(element('input'));
  box.type = 'checkbox';
  box.checked = now.chosen.has(number);
  box.setAttribute('aria-label', `Draw row ${number + 1}`);
  box.addEventListener('change', () => {
    if (box.checked) now.chosen.add(number);
    else now.chosen.delete(number);
    pictures();
  });
  for (const name of now.names) line.appendChild(element('td', valueOf(row[name]), typeof row[name] === 'number' ? 'number' : ''));
  return line;
};
const drawRows = () => {
  const body = element('tbody');
  body.append(...now.rows.slice(0, SHOWN).map(lineOf));
  document.querySelector('#rows table').replaceChildren(headOf(), body);
  const left = now.rows.length - SHOWN, said = document.querySelector('#rows .beyond');
  said.hidden = left <= 0;
  said.textContent = `and ${count(left)} more, included in the chart, the map and downloads`;
  for (const id of ['csv', 'ndjson']) by(id).disabled = !now.rows.length;
};

const options = (select, names, first) => {
  const before = select.options.length ? select.value : null;
  select.replaceChildren(...names.map((name) => {
    const made = element('option', name || 'number of the row');
    made.value = name;
    return made;
  }));
  select.value = names.includes(before) ? before : first;
};
const pictures = () => {
  const rows = selected(), numbers = numericColumns(rows, now.names), places = coordinates(now.names);
  by('chart').hidden = !numbers.length;
  if (numbers.length) {
    const keys = ['PartitionKey', 'RowKey', ...(places ?? [])];
    const measured = numbers.filter((name) => !keys.includes(name) && !isTime(rows, name));
    // The service's own time says when a row was written.
    options(by('across'), ['', ...numbers], numbers.find((name) => name !== 'Timestamp' && isTime(rows, name)) ?? '');
    options(by('up'), numbers, measured[0] ?? numbers[0]);
    const drawn = drawChart(rows, by('across').value, by('up').value);
    by('charted').textContent = `${count(drawn)} points, ${now.chosen.size ? 'from the selected rows' : 'from all rows shown'}`;
  }
  by('map').hidden = !places;
  if (places) by('mapped').textContent = `${count(drawMap(rows, places))} points by ${places.join(' and ')}`;
};

const REQUESTS = [
  ['What', '', (one) => one.what],
  ['Rows', 'number', (one) => count(one.rows)],
  ['Payload', 'number', (one) => size(one.wire)],
  ['Unpacked', 'number', (one) => size(one.bytes)],
  ['Store → proxy', 'number', (one) => milliseconds(one.store)],
  ['In the proxy', 'number', (one) => milliseconds(one.proxy)],
  ['Proxy → browser', 'number', (one) => milliseconds(one.browser)],
  ['Sum', 'number', (one) => milliseconds(one.store + one.proxy + one.browser)],
  ['Elapsed', 'number', (one) => milliseconds(one.elapsed)],
  ['Requests to the store', 'number', (one) => count(one.requests)],
];
const spend = (cost) => {
  now.costs.push(cost);
  const all = { what: `${count(now.costs.length)} in total` };
  for (const key of Object.keys(cost)) if (key !== 'what') all[key] = now.costs.reduce((sum, one) => sum + one[key], 0);
  const into = document.querySelector('#requests table'), foot = element('tfoot'), line = foot.appendChild(element('tr'));
  table(into, REQUESTS, now.costs.slice(-200));
  for (const [, kind, tell] of REQUESTS) line.appendChild(element('td', tell(all), kind));
  into.append(foot);
  by('requests').hidden = false;
};

const busy = (is) => {
  for (const id of ['show', 'all']) by(id).disabled = is;
  by('before').disabled = is || now.pages.length < 2;
  by('after').disabled = is || !now.next;
};
const failed = (error) => {
  if (error.name === 'AbortError') return state('stopped', `Stopped after ${count(now.rows.length)} rows.`);
  by('pass').hidden = error.status !== 401;
  notice(error instanceof Refused ? error.message : `Error in this page: ${error.message}`);
  state('failed', now.rows.length ? `Incomplete: received only ${count(now.rows.length)} rows.` : 'No rows received.');
};

const fill = (rows) => {
  [now.rows, now.names] = [rows, []];
  now.chosen.clear();
  learnNames(rows);
};
const showPage = async () => {
  busy(true);
  notice('');
  state('loading', 'Loading ...');
  try {
    const at = now.pages.at(-1), found = await onePage(by('table').value, { ...asked(), $top: by('top').value, format: by('format').value, ...at });
    fill(found.rows);
    now.next = found.next;
    spend(found.cost);
    drawRows();
    pictures();
    const drawn = found.rows.length === found.cost.rows ? '' : '; this format is timed, not displayed';
    state('done', `Page ${now.pages.length}: ${count(found.cost.rows)} rows${found.sorted ? ` (${found.sorted})` : ''}${found.next ? '; there are more' : '; this is the last page'}${drawn}.`);
  } catch (error) {
    failed(error);
  }
  busy(false);
};
const firstPage = () => {
  now.pages = [null];
  return showPage();
};
const sortBy = (name) => {
  now.order = now.order?.name !== name ? { name, descending: false } : now.order.descending ? null : { name, descending: true };
  firstPage();
};

const showAll = async () => {
  now.stop = new AbortController();
  busy(true);
  by('stop').hidden = false;
  notice('');
  fill([]);
  [now.pages, now.next] = [[null], null];
  drawRows();
  state('loading', 'Loading ...');
  let drawn = 0;
  const take = (found) => {
    const wasEmpty = !now.rows.length;
    if (now.rows.length < KEPT) now.rows.push(...found.slice(0, KEPT - now.rows.length));
    drawn += found.length;
    if (wasEmpty && found.length) {
      learnNames(found);
      drawRows();
    }
    state('streaming', `${count(drawn)} rows so far ...`);
  };
  try {
    const found = await allRows(by('table').value, asked(), now.stop.signal, take);
    spend(found.cost);
    const kept = drawn > now.rows.length ? `; only the first ${count(KEPT)} are kept` : '';
    state('done', `All ${count(drawn)} rows: the first after ${milliseconds(found.first ?? found.cost.elapsed)}, the last after ${milliseconds(found.cost.elapsed)}${found.sorted ? ` (${found.sorted})` : ''}${kept}.`);
  } catch (error) {
    failed(error);
  }
  learnNames(now.rows);
  drawRows();
  pictures();
  now.stop = null;
  by('stop').hidden = true;
  busy(false);
};

const disarmed = (text) => (/^[=+\-@\t\r\n]/.test(text) && !NUMBER.test(text) ? `'${text}` : text);
const cellOf = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const asCsv = (rows) => [now.names, ...rows.map((row) => now.names.map((name) => valueOf(row[name])))]
  .map((line) => line.map((text) => cellOf(disarmed(text))).join(',')).join('\r\n');
const asLines = (rows) => rows.map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).filter(([name]) => isProperty(name))))).join('\n');
const download = (text, kind, extension) => {
  const link = element('a');
  link.href = URL.createObjectURL(new Blob([text, '\n'], { type: kind }));
  link.download = `${by('table').value}.${extension}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

const connect = async () => {
  try {
    const told = await (await fetched('tables')).json();
    options(by('table'), told.tables.map((one) => one.name), told.tables[0]?.name);
    by('pass').hidden = true;
    by('title').textContent = by('table').value;
    await firstPage();
  } catch (error) {
    by('title').textContent = 'Not connected';
    failed(error);
  }
};

by('format').replaceChildren(...FORMATS.map(([name, text]) => {
  const made = element('option', text);
  made.value = name;
  return made;
}));
by('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  firstPage();
});
by('pass').addEventListener('submit', (event) => {
  event.preventDefault();
  setToken(by('token').value);
  connect();
});
by('table').addEventListener('change', () => {
  by('title').textContent = by('table').value;
  for (const id of ['filter', 'select']) by(id).value = '';
  now.order = null;
  firstPage();
});
by('after').addEventListener('click', () => {
  now.pages.push(now.next);
  showPage();
});
by('before').addEventListener('click', () => {
  now.pages.pop();
  showPage();
});
by('all').addEventListener('click', showAll);
by('stop').addEventListener('click', () => now.stop?.abort());
by('csv').addEventListener('click', () => download(asCsv(selected()), 'text/csv', 'csv'));
by('ndjson').addEventListener('click', () => download(asLines(selected()), 'application/x-ndjson', 'ndjson'));
for (const id of ['across', 'up']) by(id).addEventListener('change', pictures);
let resized = 0;
addEventListener('resize', () => {
  cancelAnimationFrame(resized);
  resized = requestAnimationFrame(pictures);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', pictures);
connect();
