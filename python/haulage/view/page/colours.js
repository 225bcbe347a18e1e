// Scales of colours, made here so that equal steps of value look equally far apart: through points in the Oklab space
// (lightness, green to red, blue to yellow) at equal distances. Lightness only rises along a sequential scale, so that
// it reads without any sense of colour; the ends of diverging ones differ in blue and yellow, which nearly all people see.

const STEPS = 256;
const POINTS = {
  sea: [[0.20, 0.02, -0.10], [0.38, -0.03, -0.13], [0.56, -0.09, -0.06], [0.74, -0.10, 0.05], [0.95, -0.03, 0.12]],
  heat: [[0.18, 0.04, -0.08], [0.36, 0.12, -0.07], [0.54, 0.16, 0.05], [0.74, 0.09, 0.14], [0.96, -0.02, 0.10]],
  rain: [[0.97, -0.01, 0.01], [0.80, -0.05, -0.04], [0.60, -0.05, -0.11], [0.40, 0.00, -0.15], [0.24, 0.05, -0.10]],
  grey: [[0.20, 0, 0], [0.97, 0, 0]],
  'blue-red': [[0.30, 0.00, -0.12], [0.52, -0.03, -0.13], [0.75, -0.03, -0.07], [0.965, 0, 0], [0.75, 0.08, 0.06], [0.52, 0.15, 0.10], [0.30, 0.11, 0.06]],
  'brown-blue': [[0.34, 0.04, 0.07], [0.55, 0.04, 0.10], [0.77, 0.02, 0.07], [0.965, 0, 0], [0.77, -0.05, -0.04], [0.55, -0.06, -0.09], [0.34, -0.02, -0.12]],
  round: [[0.35, 0.03, -0.11], [0.55, -0.07, -0.07], [0.80, -0.04, 0.06], [0.58, 0.11, 0.07], [0.35, 0.03, -0.11]],
};
export const SCALES = Object.keys(POINTS);
export const DIVERGING = new Set(['blue-red', 'brown-blue']);

const bent = (channel) => Math.max(0, Math.min(1, channel <= 0.0031308 ? 12.92 * channel : 1.055 * channel ** (1 / 2.4) - 0.055));
const straight = ([light, a, b]) => {
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3, m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3, s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s, -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
};
// Less of a colour that a screen cannot show, of the same lightness.
const shown = (lab) => {
  let [low, high] = [0, 1];
  const with_ = (share) => straight([lab[0], lab[1] * share, lab[2] * share]);
  const fits = (rgb) => rgb.every((one) => one > -1e-4 && one < 1.0001);
  if (fits(with_(1))) return lab;
  for (let turn = 0; turn < 20; turn += 1) {
    const middle = (low + high) / 2;
    if (fits(with_(middle))) low = middle;
    else high = middle;
  }
  return [lab[0], lab[1] * low, lab[2] * low];
};
// A smooth curve through the points.
const curve = (points, at) => {
  const place = at * (points.length - 1), one = Math.min(points.length - 2, Math.floor(place)), t = place - one;
  const of = (number) => points[Math.max(0, Math.min(points.length - 1, number))];
  return [0, 1, 2].map((part) => {
    const [a, b, c, d] = [of(one - 1)[part], of(one)[part], of(one + 1)[part], of(one + 2)[part]];
    return b + t / 2 * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  });
};
// Places along the curve whose colours are equally far from each other.
const spaced = (points) => {
  const dense = Array.from({ length: 2001 }, (_, number) => shown(curve(points, number / 2000))), lengths = [0];
  for (let at = 1; at < dense.length; at += 1) lengths.push(lengths.at(-1) + Math.hypot(...dense[at].map((one, part) => one - dense[at - 1][part])));
  const found = [];
  for (let step = 0, at = 0; step < STEPS; step += 1) {
    while (at < 2000 && lengths[at] < step / (STEPS - 1) * lengths.at(-1)) at += 1;
    found.push(dense[at]);
  }
  return found;
};
// The halves of a diverging scale are each half of it, however far apart their ends are.
const labsOf = (name) => {
  const points = POINTS[name];
  if (!DIVERGING.has(name)) return spaced(points);
  const low = spaced(points.slice(0, 4)), high = spaced(points.slice(3));
  return [...low.filter((_, number) => number % 2 === 0), ...high.filter((_, number) => number % 2 === 1)];
};

const made = new Map();
// A table of 256 colours, each of four bytes.
export const tableOf = (name, reversed) => {
  const key = `${name} ${reversed}`;
  if (!made.has(key)) {
    const labs = labsOf(name), bytes = new Uint8Array(STEPS * 4);
    if (reversed) labs.reverse();
    labs.forEach((lab, number) => bytes.set([...straight(lab).map((one) => Math.round(255 * bent(one))), 255], number * 4));
    made.set(key, bytes);
  }
  return made.get(key);
};

const HOT = /temperature|heat/, WET = /precip|rain|snow|cloud|humid|moist|runoff|vapou?r|(^|[ _])ice([ _]|$)/, TURNING = /direction/;
// The scale that suits a variable, by what it is and in which units.
export const suited = (variable) => {
  const what = `${variable.standard_name ?? ''} ${variable.long_name ?? ''} ${variable.name}`.toLowerCase(), units = variable.units ?? '';
  if (TURNING.test(what) && /deg/.test(units)) return 'round';
  if (variable.diverging) return WET.test(what) ? 'brown-blue' : 'blue-red';
  if (HOT.test(what) || /^(k|kelvin|degc|°c|celsius|deg_c|degrees? ?c(elsius)?)$/i.test(units)) return 'heat';
  return WET.test(what) ? 'rain' : 'sea';
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
