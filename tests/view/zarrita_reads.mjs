// Reads every array below an address with zarrita, and prints for each its path, type, shape and values as Base64.
import { pathToFileURL } from 'node:url';

const [modules, address] = process.argv.slice(2);
const { FetchStore, get, open } = await import(pathToFileURL(`${modules}/zarrita/dist/src/index.js`));
const root = await open.v3(new FetchStore(address), { kind: 'group' });
const answer = await fetch(`${address}/zarr.json`);
const { metadata } = (await answer.json()).consolidated_metadata;
for (const [path, { node_type: kind }] of Object.entries(metadata)) {
  if (kind !== 'array') continue;
  const array = await open.v3(root.resolve(path), { kind: 'array' });
  const found = await get(array), data = found?.data ?? new Float64Array([found]);
  const values = typeof found === 'object' ? Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64') : null;
  console.log(JSON.stringify({ path, dtype: array.dtype, shape: array.shape, values, one: values === null ? String(found) : null }));
}
