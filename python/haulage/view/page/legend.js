// The bar of colours with its numbers, and numbers for people.

// Numbers with as many digits as steps between them need.
export const ticksOf = ([low, high], most = 7) => {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= rough) * power, found = [];
  for (let tick = Math.ceil(low / step - 1e-9); tick * step <= high + step * 1e-9; tick += 1) found.push(tick * step);
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9) + (step / power === 2.5 ? 1 : 0)), largest = Math.max(Math.abs(low), Math.abs(high));
  const text = (value) => (largest >= 1e6 || largest < 1e-3 ? Number(value.toPrecision(4)).toExponential().replace('e+', 'e') : value.toFixed(Math.min(digits, 8)));
  return found.map((value) => [value, value === 0 ? '0' : text(value)]);
};
export const valueText = (value) => (value === null || Number.isNaN(value) ? 'missing' : Number(value.toPrecision(7)).toString());

// Draws it within an element: the range, 256 colours, and whether values lie beyond its ends.
export const drawLegend = (into, range, colours, units, beyond) => {
  const bar = into.querySelector('canvas'), pen = bar.getContext('2d');
  [bar.width, bar.height] = [256, 1];
  pen.putImageData(new ImageData(new Uint8ClampedArray(colours), 256, 1), 0, 0);
  into.dataset.below = beyond[0];
  into.dataset.above = beyond[1];
  const names = into.querySelector('.ticks'), width = into.clientWidth;
  names.replaceChildren(...ticksOf(range, Math.max(2, Math.min(8, Math.floor(width / 70)))).map(([value, text]) => {
    const tick = element('span', text);
    tick.style.left = `${(value - range[0]) / (range[1] - range[0]) * 100}%`;
    return tick;
  }));
  into.querySelector('.units').textContent = units;
  const said = beyond.map((is, end) => (is ? ` Values ${end ? 'above' : 'below'} the range have the colour of its end.` : '')).join('');
  bar.setAttribute('aria-label', `Colours from ${valueText(range[0])} to ${valueText(range[1])} ${units}.${said}`);
};
