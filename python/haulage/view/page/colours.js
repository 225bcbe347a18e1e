// Scales of colours under the names that matplotlib and others have for them: viridis, plasma and inferno (CC0), twilight
// (CC0), and those of ColorBrewer (Cynthia Brewer, Apache 2.0). Lightness only rises or falls along a sequential scale, so
// that it reads without any sense of colour; the ends of diverging ones differ for nearly all people.

const STEPS = 256;
// Colours at equal distances, in hexadecimal; between them a straight line is within 3 of 255 of the original.
const POINTS = {
  viridis: '440154471163481f71472d7b443a834046883b528b355d8d31688e2c728e287c8e24868e21908c1f9a8a20a48628ae8035b77947c06f5dc96375d0548fd744abdc32c7e020e3e418fde725',
  plasma: '0d08872206903105963f049c4c02a15901a56600a77201a87e03a88909a69511a29f1a9ca92396b22c8ebb3587c33e80cb4778d25071d9596ae06263e66c5ceb7555f07f4ff48a48f89441fb9f3afdab33feb72dfdc328fcd025f9dd25f5eb27f0f921',
  inferno: '0000040403120b0724150b37210c4a2e0a5a3c09654a0c6b57106d63146e70196e7d1e6d89226a962766a32b61af315cbb3755c63e4dd14644db4f3be35932eb6528f1711ef67f14f98d0afb9c06fcab0ffbba1ff9ca32f5d949f2e865f3f586fcffa4',
  Blues: 'f7fbffdeebf7c6dbef9ecae16baed64292c62171b508519c08306b',
  gray: '000000ffffff',
  RdBu_r: '0530612166ac4393c392c5ded1e5f0f7f7f7fddbc7f4a582d6604db2182b67001f',
  BrBG: '5430058c510abf812ddfc27df6e8c3f5f5f5c7eae580cdc135978f01665e003c30',
  twilight: 'e2d9e2d1d4dab3c6ce94b4c77ba1c26b8cbf6275ba5f5db25e44a5592a8f4e186e3c114c2f14373f113c581647741e4f8d2b50a23f50b25652be6f5bc6896ccca388d3bbabddcfcee2d9e2',
};
export const SCALES = Object.keys(POINTS);
export const DIVERGING = new Set(['RdBu_r', 'BrBG']);

const made = new Map();
// A table of 256 colours, each of four bytes.
export const tableOf = (name, reversed) => {
  const key = `${name} ${reversed}`;
  if (!made.has(key)) {
    const points = POINTS[name].match(/../g).map((pair) => parseInt(pair, 16)), last = points.length / 3 - 1, bytes = new Uint8Array(STEPS * 4);
    for (let step = 0; step < STEPS; step += 1) {
      const at = (reversed ? STEPS - 1 - step : step) / (STEPS - 1) * last, low = Math.min(last - 1, Math.floor(at));
      for (let part = 0; part < 3; part += 1) {
        const from = points[3 * low + part], to = points[3 * low + 3 + part];
        bytes[4 * step + part] = Math.round(from + (at - low) * (to - from));
      }
      bytes[4 * step + 3] = 255;
    }
    made.set(key, bytes);
  }
  return made.get(key);
};

const HOT = /temperature|heat/, WET = /precip|rain|snow|cloud|humid|moist|runoff|vapou?r|(^|[ _])ice([ _]|$)/, TURNING = /direction/;
// The scale that suits a variable, by what it is and in which units.
export const suited = (variable) => {
  const what = `${variable.standard_name ?? ''} ${variable.long_name ?? ''} ${variable.name}`.toLowerCase(), units = variable.units ?? '';
  if (TURNING.test(what) && /deg/.test(units)) return 'twilight';
  if (variable.diverging) return WET.test(what) ? 'BrBG' : 'RdBu_r';
  if (HOT.test(what) || /^(k|kelvin|degc|°c|celsius|deg_c|degrees? ?c(elsius)?)$/i.test(units)) return 'inferno';
  return WET.test(what) ? 'Blues' : 'viridis';
};

// The range of values that colours stand for. Around zero for diverging scales.
export const rangeOf = (said, how, diverging) => {
  if (said.min === null) return [0, 1];
  let [low, high] = how === 'all' ? [said.min, said.max] : [said.p2, said.p98];
  if (low === high) [low, high] = [said.min, said.max];
  if (diverging) [low, high] = [-Math.max(Math.abs(low), Math.abs(high)), Math.max(Math.abs(low), Math.abs(high))];
  if (low === high) return low === 0 ? [-1, 1] : [low - Math.abs(low) * 0.01, high + Math.abs(high) * 0.01];
  return [low, high];
};
