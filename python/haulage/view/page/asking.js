// Asks the server, keeps what it answered, and says what that cost.

export class Refused extends Error {
  constructor(message, hint, status, code) {
    super(message);
    this.hint = hint;
    this.status = status;
    this.code = code;
  }
}

const KEPT_BYTES = 256 << 20;
let told = () => {};
// Calls back with the cost of each answer: { what, requests, bytes, store, elapsed, received }.
export const onCost = (call) => {
  told = call;
};

const refusal = async (answer) => {
  try {
    const { code, error, hint } = await answer.json();
    return new Refused(error, hint, answer.status, code);
  } catch {
    return new Refused(`The server responded with HTTP ${answer.status}.`, 'reload the page', answer.status);
  }
};
const fetched = async (path, query, read, what) => {
  const began = performance.now();
  let answer, body;
  try {
    answer = await fetch(`api/${path}?${new URLSearchParams(query)}`);
    if (!answer.ok) throw await refusal(answer);
    body = await read(answer);
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Refused('haul view does not respond.', 'is it still running? start it again and open the address that it prints');
  }
  const head = (name) => Number(answer.headers.get(`X-Haul-${name}`) ?? 0);
  const cost = { what: what ?? path, requests: head('Requests'), bytes: head('Bytes'), store: head('Milliseconds'), trips: head('Round-Trips'),
    elapsed: performance.now() - began, received: Number(answer.headers.get('Content-Length') ?? 0) };
  told(cost);
  return body;
};

export const ask = (path, query) => fetched(path, query, (answer) => answer.json());
export const askText = (path, query) => fetched(path, query, (answer) => answer.text());
export const askBlob = (path, query) => fetched(path, query, (answer) => answer.blob());

// A head in JSON and Float32 values behind it.
const unframed = (buffer) => {
  const length = new DataView(buffer).getUint32(0, true), start = 4 + length;
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { head, data: new Float32Array(start % 4 ? buffer.slice(start) : buffer, start % 4 ? 0 : start) };
};

// What was asked last, up to KEPT_BYTES; whoever asks again while it is on its way waits for the same answer.
const kept = new Map();
const keep = (key, make, sizeOf) => {
  const before = kept.get(key);
  if (before) {
    kept.delete(key);
    kept.set(key, before);
    return before.promise;
  }
  const entry = { promise: null, bytes: 0 };
  kept.set(key, entry);
  entry.promise = make().then((found) => {
    entry.bytes = sizeOf(found);
    let sum = 0;
    for (const one of kept.values()) sum += one.bytes;
    for (const [old, one] of kept) {
      if (sum <= KEPT_BYTES || one === entry) break;
      sum -= one.bytes;
      kept.delete(old);
    }
    return found;
  }).catch((error) => {
    kept.delete(key);
    throw error;
  });
  return entry.promise;
};
export const forget = () => kept.clear();

// A part of the file as it is now: its ETag is part of the key, so that a new version is asked for anew.
export const framed = (path, query, etag, of = (found) => found, what = path) => keep(
  JSON.stringify([path, query, etag]),
  async () => of(unframed(await fetched(path, query, (answer) => answer.arrayBuffer(), what))),
  (found) => found.data?.byteLength ?? (found.lon?.byteLength ?? 0) * 2,
);

export const indexText = (index) => Object.entries(index).map(([dim, place]) => `${dim}:${place}`).join(',');
