// What the answers cost: a line in all, and a row for each.

const SHOWN = 200;
const all = { requests: 0, bytes: 0, store: 0, answers: 0 };
const last = [];
let began = 0;
const milliseconds = (value) => (value ? `${value < 10 ? value.toFixed(1) : count(Math.round(value))} ms` : '');
const COLUMNS = [
  ['What', '', (one) => one.what],
  ['Requests to the store', 'number', (one) => count(one.requests)],
  ['Round trips', 'number', (one) => count(one.trips)],
  ['Read from the store', 'number', (one) => size(one.bytes)],
  ['Time at the store', 'number', (one) => milliseconds(one.store)],
  ['Total time', 'number', (one) => milliseconds(one.elapsed)],
  ['Sent to the browser', 'number', (one) => (one.received ? size(one.received) : '')],
];

export const spend = (cost) => {
  for (const key of ['requests', 'bytes', 'store']) all[key] += cost[key];
  all.answers += 1;
  last.unshift(cost);
  last.length = Math.min(last.length, SHOWN);
  cancelAnimationFrame(began);
  began = requestAnimationFrame(drawSpent);
};
const drawSpent = () => {
  by('requests').hidden = false;
  by('cost').textContent = `${count(all.answers)} ${all.answers === 1 ? 'response' : 'responses'} so far: ${count(all.requests)} ${all.requests === 1 ? 'request' : 'requests'} to the store, ${size(all.bytes)}, ${count(Math.round(all.store))} ms there`;
  if (by('requests').querySelector('details').open) table(by('requests').querySelector('table'), COLUMNS, last);
};
by('requests').querySelector('details').addEventListener('toggle', drawSpent);

// What was spent so far; or since an earlier total.
export const total = (before) => {
  const here = { ...all, at: performance.now() };
  return before ? { requests: here.requests - before.requests, bytes: here.bytes - before.bytes, elapsed: here.at - before.at } : here;
};
