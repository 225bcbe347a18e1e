// Asks the proxy, and measures: what came, how long the store took, and how long the way to the browser.
'use strict';

const FORMATS = [
  ['json-minimal', 'JSON'], ['json-none', 'JSON, no types'], ['json-full', 'JSON, all types'], ['ndjson', 'NDJSON'],
  ['csv', 'CSV (measure only)'], ['atom', 'Atom (measure only)'], ['arrow', 'Arrow (measure only)'],
];
const given = new URLSearchParams(location.search).get('token');
// Behind #, an address that is copied or kept in the history sends it to nobody.
if (given !== null) history.replaceState(null, '', `${location.pathname}#${new URLSearchParams({ token: given })}`);
let token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
const setToken = (text) => { token = text; };

class Refused extends Error {
  constructor(status, told) {
    super(told.hint ? `${told.error} (${told.hint})` : told.error);
    this.status = status;
  }
}

const fetched = async (path, signal) => {
  let answer;
  try {
    answer = await fetch(path, { headers: token ? { Authorization: `Bearer ${token}` } : {}, signal, cache: 'no-store' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused(0, { error: 'The proxy does not respond.', hint: 'is haul table serve running?' });
  }
  if (answer.ok) return answer;
  let told;
  try { told = await answer.json(); } catch { told = { error: `The proxy responded with HTTP ${answer.status}.` }; }
  throw new Refused(answer.status, told);
};

const addressOf = (name, kind, parameters) => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) if (value) query.set(key, value);
  return `tables/${encodeURIComponent(name)}/${kind}?${query}`;
};

// The parts of a request's time, in milliseconds, from the headers of the answer.
const timingOf = (answer) => {
  const parts = {};
  for (const part of (answer.headers.get('Server-Timing') ?? '').split(',')) {
    const found = /^\s*(\w+);dur=([\d.]+)/.exec(part);
    if (found) parts[found[1]] = Number(found[2]);
  }
  return parts;
};
const storeOf = (answer) => Object.fromEntries((answer.headers.get('Haul-Store') ?? '').split(',').map((part) => part.trim().split('=')));

// What the browser says of the latest answer from there; what it has on the wire is known once it has ended.
const wireBytes = async (path, otherwise) => {
  const url = new URL(path, location.href).href;
  for (let tries = 0; tries < 20; tries += 1) {
    const entry = performance.getEntriesByName(url).at(-1);
    if (entry?.encodedBodySize) return entry.encodedBodySize;
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  return otherwise;
};

// Reads a body to its end, handing on each piece; the connection may break at any time.
const readAll = async (answer, take) => {
  const reader = answer.body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return bytes;
      bytes += value.length;
      take(value);
    }
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused(0, { error: `The connection broke after ${size(bytes)}: the response is incomplete.`, hint: 'the rows received so far are shown below' });
  }
};

const onePage = async (name, parameters) => {
  performance.clearResourceTimings();
  const path = addressOf(name, 'rows', parameters), began = performance.now();
  const answer = await fetched(path), pieces = [];
  const bytes = await readAll(answer, (piece) => pieces.push(piece));
  const elapsed = performance.now() - began, timing = timingOf(answer), store = storeOf(answer);
  const text = parameters.format.startsWith('json') || parameters.format === 'ndjson' ? await new Blob(pieces).text() : '';
  const found = parameters.format === 'ndjson' ? text.split('\n').filter(Boolean).map((line) => JSON.parse(line)) : text ? JSON.parse(text).value : [];
  const next = {};
  for (const key of ['NextPartitionKey', 'NextRowKey']) {
    const value = answer.headers.get(`x-ms-continuation-${key}`);
    if (value !== null) next[key] = value;
  }
  return {
    rows: found,
    next: Object.keys(next).length ? next : null,
    sorted: answer.headers.get('Haul-Sorted'),
    cost: {
      what: `${name}, ${parameters.NextPartitionKey ? 'next page' : 'page'}, ${parameters.format}`,
      rows: Number(answer.headers.get('Haul-Rows')),
      wire: await wireBytes(path, bytes), bytes, elapsed,
      store: timing.store ?? 0, proxy: timing.proxy ?? 0,
      browser: Math.max(0, elapsed - (timing.store ?? 0) - (timing.proxy ?? 0)),
      requests: Number(store.requests ?? 0),
    },
  };
};

// All rows as lines of JSON; `take` gets those of each piece as soon as it is there.
const allRows = async (name, parameters, signal, take) => {
  performance.clearResourceTimings();
  const path = addressOf(name, 'all', { ...parameters, format: 'ndjson' }), began = performance.now();
  const answer = await fetched(path, signal), decoder = new TextDecoder();
  const ask = async () => (await fetched(`requests/${answer.headers.get('Haul-Request')}`)).json();
  let rest = '', number = 0, first = null, firstAt = 0, bytes;
  try {
    bytes = await readAll(answer, (piece) => {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
      rest = lines.pop();
      // The last line of an answer that failed tells why; a browser may drop it, so that the proxy is asked.
      const found = lines.filter(Boolean).map((line) => JSON.parse(line)).filter((row) => !('code' in row && 'error' in row && 'hint' in row));
      if (found.length && first === null) firstAt = first = performance.now() - began;
      number += found.length;
      take(found);
    });
  } catch (error) {
    const why = error.name === 'AbortError' ? null : (await ask().catch(() => null))?.error;
    throw why ? new Refused(0, why) : error;
  }
  const elapsed = performance.now() - began, told = await ask();
  return {
    first,
    sorted: answer.headers.get('Haul-Sorted'),
    cost: {
      what: `${name}, all rows, ndjson`, rows: number, wire: await wireBytes(path, bytes), bytes, elapsed,
      store: told.store_seconds * 1e3, proxy: Math.max(0, (told.seconds ?? 0) - told.store_seconds) * 1e3,
      browser: elapsed - firstAt, requests: told.store_requests,
    },
  };
};
