// What is seen, to take along: a picture, CSV, NetCDF, and the lines of xarray.

import { askBlob, askText, indexText } from './asking.js';

const save = (blob, name) => {
  const link = element('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};
const fileName = (seen, ending) => `${[seen.name.split('/').at(-1).replace(/\.\w+$/, ''), seen.path.split('/').at(-1), ...Object.entries(seen.index).map(([dim, place]) => `${dim}${place}`)].join('-')}.${ending}`;
const queryOf = (seen) => ({ name: seen.name, var: seen.path, index: indexText(seen.index) });

// Titles, maps and legend on one canvas, as they are on the screen.
export const savePicture = async (seen, panels, legend, titles) => {
  const dense = devicePixelRatio || 1, first = panels[0].over, gap = Math.round(12 * dense);
  const width = panels.reduce((sum, one) => sum + one.over.width, 0) + gap * (panels.length + 1), top = Math.round(62 * dense), bottom = Math.round(58 * dense);
  const sheet = element('canvas'), pen = sheet.getContext('2d');
  [sheet.width, sheet.height] = [width, top + first.height + bottom];
  pen.fillStyle = colour('--paper');
  pen.fillRect(0, 0, width, sheet.height);
  pen.fillStyle = colour('--ink');
  const write = (text, x, y, pixels, weight = '') => {
    pen.font = `${weight} ${Math.round(pixels * dense)}px system-ui, sans-serif`;
    pen.fillText(text, x, y, width - x);
  };
  write(titles[0], gap, 24 * dense, 16, '600');
  let left = gap;
  panels.forEach((panel, number) => {
    write(panel.title.textContent || titles[1], left, 48 * dense, 12);
    pen.fillStyle = colour('--none');
    pen.fillRect(left, top, panel.over.width, panel.over.height);
    // Cells are painted again just before, since a canvas of WebGL is empty once it has been shown.
    panel.repaint();
    pen.drawImage(panel.painter.canvas, left, top);
    pen.drawImage(panel.over, left, top);
    pen.fillStyle = colour('--ink');
    left += panel.over.width + gap;
  });
  const bar = legend.querySelector('canvas'), wide = width - 2 * gap, at = top + first.height + gap;
  pen.drawImage(bar, gap, at, wide, 14 * dense);
  for (const tick of legend.querySelectorAll('.ticks span')) {
    const share = parseFloat(tick.style.left) / 100;
    pen.textAlign = share > 0.95 ? 'right' : share < 0.05 ? 'left' : 'center';
    write(tick.textContent, gap + share * wide, at + 28 * dense, 11);
  }
  pen.textAlign = 'left';
  write(legend.querySelector('.units').textContent, gap, at + 43 * dense, 11);
  const blob = await new Promise((resolve) => sheet.toBlob(resolve, 'image/png'));
  save(blob, fileName(seen, 'png'));
};

export const saveExport = async (seen, format, window) => {
  save(await askBlob('export', { ...queryOf(seen), format, ...window }), fileName(seen, format));
};

// The lines that the server gives, and one more for the part that is seen.
export const codeOf = async (seen, window, dims) => {
  const whole = await askText('code', queryOf(seen));
  if (!window) return whole;
  const part = dims.map(([dim, from, to]) => `${JSON.stringify(dim)}: slice(${from}, ${to})`).join(', ');
  return `${whole.trimEnd()}\nvalues = values.isel({${part}})\n`;
};
