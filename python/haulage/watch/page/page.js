// Draws what is pushed. Only what has changed is drawn anew, so that a selection, a place in a list and an opened
// traceback stay.
'use strict';

const WORDS = { alive: 'running', done: 'done', quiet: 'quiet', failed: 'failed', silent: 'SILENT', lost: 'LOST', panicked: 'PANIC' };
// Without the objects that failed, which the events count among those that are done. Of tasks, those that failed are
// not counted among them.
const done = (row) => count(Math.max(0, row.objects_done - (row.tasks ? 0 : row.objects_failed)));
// Enough of the name of a job to find it among others.
const ofJob = (row) => row.job.slice(0, 8);
const NODES = [
  ['Node', '', (row) => row.node],
  ['Job', '', ofJob],
  ['State', '', (row) => [WORDS[row.health], row.health]],
  ['What', '', (row) => row.what],
  ['Rate', 'number', (row) => (row.engine ? rate(row.rate_bits_per_second) : '')],
  ['In flight', 'number', (row) => (row.engine || row.tasks ? String(row.in_flight) : '')],
  ['Done', 'number', (row) => (row.engine || row.tasks ? done(row) : '')],
  ['Failed', 'number', (row) => (row.engine || row.tasks ? [count(row.objects_failed), row.objects_failed ? 'bad' : 'zero'] : '')],
  ['Moved', 'number', (row) => (row.engine ? size(row.bytes_done) : '')],
  ['Errors', 'number', (row) => [count(row.errors), row.errors ? 'warn' : 'zero']],
  ['Last heard', 'number', (row) => (row.heard_ago_ns < 2e9 ? 'now' : `${duration(row.heard_ago_ns)} ago`)],
  ['Cause', 'wide', (row) => row.cause],
];
const trend = (perSecond) => (perSecond === null ? '' : Math.abs(perSecond) < 0.05 ? 'steady' : `${perSecond > 0 ? '+' : ''}${perSecond.toFixed(1)}/s`);
const QUEUES = [
  ['Queue', '', (row) => row.name],
  ['Messages', 'number', (row) => count(row.messages)],
  ['Trend', 'number', (row) => trend(row.messages_per_second)],
  ['Left', 'number', (row) => (row.eta_ns === null ? '' : row.eta_ns ? duration(row.eta_ns) : 'empty')],
  ['Counted', 'number', (row) => (row.counted_ago_ns < 5e9 ? 'now' : `${duration(row.counted_ago_ns)} ago`)],
  ['', 'wide', (row) => row.said],
];
const JOBS = [
  ['Job', '', (row) => row.job],
  ['State', '', (row) => [WORDS[row.health], row.health]],
  ['What', 'wide', (row) => [row.what, row.sources.join(', '), row.destination && `to ${row.destination}`].filter(Boolean).join(' ')],
  ['Objects', 'number', (row) => (row.objects_total ? `${done(row)} / ${count(row.objects_total)}` : '')],
  ['Failed', 'number', (row) => [count(row.objects_failed), row.objects_failed ? 'bad' : 'zero']],
  ['Moved', 'number', (row) => size(row.bytes_done)],
  ['Left', 'number', (row) => (row.eta_ns === null ? '' : duration(row.eta_ns))],
];
const ERRORS = [
  ['Kind', '', (row) => [row.kind, row.objects || row.others ? 'bad' : 'warn']],
  ['Requests', 'number', (row) => count(row.attempts)],
  ['Objects', 'number', (row) => count(row.objects)],
  ['Others', 'number', (row) => count(row.others)],
  ['Last', '', (row) => clock(row.time_unix_ns)],
  ['Node', '', (row) => row.node],
  ['Object and cause', 'wide', (row) => both(row.object, row.cause)],
];
const SLOW = [
  ['In flight for', 'number', (row) => duration(row.age_ns)],
  ['Done', 'number', (row) => (row.size_bytes ? `${Math.floor((100 * row.bytes_done) / row.size_bytes)} %` : '')],
  ['Size', 'number', (row) => size(row.size_bytes)],
  ['Node', '', (row) => row.node],
  ['Job', '', ofJob],
  ['Object', 'wide', (row) => row.object],
];

const withoutJob = (columns) => columns.filter(([name]) => name !== 'Job');

// How many there are besides those that are shown.
const beyond = (section, left) => {
  const said = section.querySelector('.beyond');
  said.hidden = !left;
  said.textContent = left ? `and ${count(left)} more; haul watch --csv FILE writes all of them` : '';
};

const before = new Map();
const changed = (name, value) => {
  const text = JSON.stringify(value);
  if (before.get(name) === text) return false;
  before.set(name, text);
  return true;
};

const rows = (name, columns, found, left) => {
  const section = by(name);
  if (!changed(name, [found, left, columns.length])) return;
  section.querySelector('.scroll').hidden = !found.length;
  table(section.querySelector('table'), columns, found);
  let none = section.querySelector('.none');
  if (!found.length && !none) section.append(element('p', 'none', 'none'));
  else if (found.length) none?.remove();
  if (left !== undefined) beyond(section, left);
};

const messages = (name, found, left, several) => {
  const section = by(name), list = section.querySelector('ul');
  if (!changed(name, [found, left, several])) return;
  const open = new Set([...list.querySelectorAll('details[open]')].map((one) => one.dataset.key));
  list.replaceChildren(...found.map((one) => {
    const item = element('li');
    const bad = one.level === 'ERROR' || one.level === 'CRITICAL';
    item.append(element('span', `${clock(one.time_unix_ns)} ${one.node} ${several ? `${ofJob(one)} ` : ''}`, 'where'));
    item.append(element('span', one.level, bad ? 'bad' : one.level === 'WARNING' ? 'warn' : 'done'));
    item.append(` ${both(one.object, one.text)}`);
    if (one.traceback) {
      const more = item.appendChild(element('details'));
      more.dataset.key = `${one.time_unix_ns} ${one.node} ${one.text}`;
      more.open = open.has(more.dataset.key);
      more.append(element('summary', 'traceback'), element('pre', one.traceback));
    }
    return item;
  }));
  list.tabIndex = found.length ? 0 : -1;
  let none = section.querySelector('.none');
  if (!found.length && !none) section.append(element('p', 'none', 'none'));
  else if (found.length) none?.remove();
  beyond(section, left);
};

// Whether there are jobs that move bytes, or nothing else is watched.
const moving = (shown) => shown.totals.objects_total || shown.totals.bytes_total || !(shown.tasks || shown.queues.length);
const facts = (shown) => {
  const totals = shown.totals, list = [], tasks = shown.tasks;
  if (tasks) list.push(['Tasks', `${count(tasks.running)} running, ${count(tasks.waiting)} waiting, ${count(tasks.done)} done`]);
  if (tasks?.failed) list.push(['Tasks failed', count(tasks.failed), 'bad']);
  const of = totals.objects_total >= totals.objects_done && totals.objects_total ? ` / ${count(totals.objects_total)}${totals.listed ? '' : '+'}` : '';
  const moves = moving(shown);
  if (moves) list.push(['Objects', done(totals) + of]);
  const failedIn = totals.jobs > 1 ? ` in ${totals.jobs_with_failures} of ${totals.jobs} jobs` : '';
  if (totals.objects_failed) list.push(['Failed', count(totals.objects_failed) + failedIn, 'bad']);
  if (totals.objects_skipped) list.push(['Skipped', count(totals.objects_skipped)]);
  if (moves) list.push(['Moved', totals.bytes_total ? `${size(totals.bytes_done)} of ${size(totals.bytes_total)}` : size(totals.bytes_done)]);
  if (moves && totals.jobs_running) {
    list.push(['Rate', rate(totals.rate_bits_per_second)], ['In flight', count(totals.in_flight)]);
    if (totals.eta_ns !== null) list.push(['Time left', duration(totals.eta_ns)]);
  }
  if (totals.retries) list.push(['Retries', count(totals.retries)]);
  if (totals.jobs || !shown.queues.length) list.push(['Nodes', Object.entries(shown.health).map(([name, number]) => `${number} ${WORDS[name]}`).join(', ') || '0',
    ['lost', 'silent', 'panicked', 'failed'].some((name) => shown.health[name]) ? 'bad' : '']);
  if (shown.lines_lost) list.push(['Lines missing', count(shown.lines_lost), 'bad']);
  if (!changed('facts', list)) return;
  by('facts').replaceChildren(...list.map(([name, value, kind]) => {
    const pair = element('div', undefined, kind);
    pair.append(element('dt', name), element('dd', value));
    return pair;
  }));
};

let chart = null;
const chartOf = (width) => {
  const axis = plotAxis();
  return new uPlot({
    width,
    height: 170,
    cursor: { drag: { x: false, y: false } },
    legend: { live: true },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [{ ...axis, space: 90, gap: 10, values: (_, ticks) => ticks.map((tick) => clock(tick * 1e9)) }, { ...axis, size: 80, values: (_, ticks) => ticks.map((tick) => rate(tick)) }],
    series: [
      { label: 'time', value: (_, at) => (at === null ? '–' : clock(at * 1e9)) },
      { label: 'rate', stroke: () => colour('--blue'), fill: () => `${colour('--blue')}22`, width: 2, points: { show: false },
        value: (_, bits) => (bits === null ? '–' : rate(bits)) },
    ],
  }, [[], []], by('rate'));
};
const rates = (found) => {
  if (!changed('rates', found)) return;
  const width = Math.max(260, by('rate').clientWidth);
  chart ??= chartOf(width);
  chart.setData([found.at_unix_ns.map((at) => at / 1e9), found.bits_per_second]);
  by('rate').setAttribute('aria-label', `Rate over time, at most ${rate(Math.max(0, ...found.bits_per_second))}`);
};
addEventListener('resize', () => chart?.setSize({ width: Math.max(260, by('rate').clientWidth), height: 170 }));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => chart?.redraw());

const notice = (text) => {
  by('notice').hidden = !text;
  if (by('notice').textContent !== text) by('notice').textContent = text;
};

const title = (shown) => {
  const queue = shown.queues[0];
  if (!shown.totals.jobs_running) return queue ? `${count(queue.messages)} messages` : 'ended';
  return shown.tasks ? `${count(shown.tasks.running)} tasks` : rate(shown.totals.rate_bits_per_second);
};
const jobs = ({ jobs: all, jobs_running: running, jobs_silent: silent }) => `${count(all)} jobs: ${count(running - silent)} running${silent ? `, ${count(silent)} silent` : ''}`;
const draw = (shown) => {
  if (!shown.totals) return;
  by('source').textContent = shown.source;
  const first = shown.jobs[0];
  by('about').textContent = shown.totals.jobs === 1
    ? `job ${first.job}: ${[first.what, first.sources.join(', '), first.destination && `to ${first.destination}`].filter(Boolean).join(' ')}`
    : shown.totals.jobs ? jobs(shown.totals) : shown.queues.length ? '' : shown.over ? 'the input has ended without an event' : 'nothing to show yet; waiting';
  document.title = `${title(shown)} - haul watch`;
  if (shown.away) notice(`The log has been unavailable for ${duration(shown.away.for_ns)}: ${shown.away.cause}`);
  else if (shown.beside_away.length) notice(shown.beside_away.map((one) => `${one.name} has been unavailable for ${duration(one.for_ns)}: ${one.cause}`).join('; '));
  else notice(shown.last ? `haul watch ended at ${clock(shown.time_unix_ns)}; this page shows the last known state.` : '');
  facts(shown);
  by('rate').parentElement.hidden = !moving(shown);
  if (moving(shown)) rates(shown.rates);
  by('queues').hidden = !shown.queues.length;
  rows('queues', QUEUES, shown.queues);
  const several = shown.totals.jobs > 1;
  rows('nodes', several ? NODES : withoutJob(NODES), shown.nodes, shown.nodes_left_out);
  by('jobs').hidden = !several;
  rows('jobs', JOBS, shown.jobs, shown.jobs_left_out);
  rows('errors', ERRORS, shown.errors, shown.errors_left_out);
  rows('slow', several ? SLOW : withoutJob(SLOW), shown.slow);
  messages('problems', shown.problems, shown.problems_left_out, several);
  messages('logs', shown.logs, shown.logs_left_out, several);
  by('lines').textContent = `${count(shown.lines)} lines read.`;
  document.body.dataset.drawn = String(shown.time_unix_ns);
};

const source = new EventSource('events');
let over = false;
source.onmessage = (event) => {
  const shown = JSON.parse(event.data);
  draw(shown);
  if (shown.last) {
    over = true;
    source.close();
  }
};
source.onerror = () => {
  if (!over) notice('haul watch does not respond; this page is out of date.');
};
