// Text for people, and elements. All text becomes text nodes: names and messages come from other machines.
'use strict';

const steps = (value, units, digits) => {
  for (const [scale, unit] of units) if (value >= scale) return `${digits(value / scale)} ${unit}`;
  return null;
};
const three = (value) => Number(value.toPrecision(3)).toString();
const size = (bytes) => steps(bytes, [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']], (v) => v.toFixed(1))
  ?? `${Math.round(bytes)} B`;
const rate = (bits) => steps(bits, [[1e9, 'Gbit/s'], [1e6, 'Mbit/s'], [1e3, 'kbit/s']], three) ?? `${Math.round(bits)} bit/s`;
const count = (number) => number.toLocaleString('en');
const clock = (ns) => (ns > 0 ? new Date(ns / 1e6).toLocaleTimeString('en-GB') : '');
const duration = (ns) => {
  const seconds = Math.max(0, ns / 1e9), whole = Math.floor(seconds);
  if (whole >= 86400) return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  if (whole >= 60) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (seconds >= 10) return `${seconds.toFixed(0)} s`;
  return seconds >= 1 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds * 1e3)} ms`;
};
const by = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const plotAxis = () => ({ stroke: () => colour('--muted'), grid: { stroke: () => colour('--grid'), width: 1 }, ticks: { show: false } });

const element = (tag, text, kind) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
};
const both = (first, second) => [first, second].filter(Boolean).join(': ');

// A table from columns of [head, class, row => text or [text, class]].
const table = (into, columns, rows) => {
  const heads = element('thead'), top = heads.appendChild(element('tr'));
  for (const [name, kind] of columns) top.appendChild(element('th', name, kind)).scope = 'col';
  const body = element('tbody');
  for (const row of rows) {
    const line = body.appendChild(element('tr'));
    line.role = 'row';
    for (const [head, kind, tell] of columns) {
      const told = tell(row), [text, more] = Array.isArray(told) ? told : [told, ''];
      const cell = line.appendChild(element('td', text, [kind, more].filter(Boolean).join(' ')));
      // For narrow screens, where a cell stands below its head and not beside others.
      cell.dataset.head = head;
      cell.role = 'cell';
    }
  }
  into.role = 'table';
  into.replaceChildren(heads, body);
};
