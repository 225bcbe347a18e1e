// One row for each axis besides the map: a slider, a step back and forth, and play.

const NAMES = { time: 'Time', level: 'Level', other: '' };

export const labelOf = (axis, place) => {
  const label = axis.labels?.[place];
  if (label === undefined || label === null) return `${place + 1} of ${axis.size}`;
  return axis.role === 'time' || !axis.units || axis.units === '1' ? label : `${label} ${axis.units}`;
};
export const stepsOf = (variable) => variable.axes.filter((axis) => axis.role !== 'x' && axis.role !== 'y');
// The names of the dimensions along y and x.
export const acrossOf = (variable) => ['y', 'x'].map((role) => variable.axes.find((axis) => axis.role === role)?.dim.split('/').at(-1) ?? role);
// The axis along which time goes; where there is none, the first.
export const timeOf = (variable) => {
  const all = stepsOf(variable).filter((axis) => axis.size > 1);
  return all.find((axis) => axis.role === 'time') ?? all[0] ?? null;
};
export const levelOf = (variable) => stepsOf(variable).find((axis) => axis.role === 'level' && axis.size > 1) ?? null;

// Draws the rows; calls back choose(dim, place) and play(dim).
export const drawSteps = (into, variable, index, calls) => {
  into.replaceChildren(...stepsOf(variable).map((axis) => {
    const row = element('div', undefined, 'axis'), name = [NAMES[axis.role], axis.name?.split('/').at(-1) ?? axis.dim].filter(Boolean);
    row.dataset.dim = axis.dim;
    const label = row.appendChild(element('label', name[0].toLowerCase() === name[1]?.toLowerCase() ? name[0] : name.join(': ')));
    const slider = element('input');
    Object.assign(slider, { type: 'range', min: 0, max: axis.size - 1, step: 1, id: `axis-${axis.dim}` });
    label.htmlFor = slider.id;
    const button = (text, told, act) => {
      const made = element('button', text);
      made.type = 'button';
      made.title = told;
      made.setAttribute('aria-label', `${told}: ${axis.dim}`);
      made.addEventListener('click', act);
      return made;
    };
    const by = (steps) => () => calls.choose(axis.dim, (index()[axis.dim] + steps + axis.size) % axis.size);
    const buttons = row.appendChild(element('span', undefined, 'buttons'));
    const one = axis.size < 2;
    buttons.append(button('◀', 'Previous', by(-1)), button('▶', 'Next', by(1)), button('Play', 'Play', () => calls.play(axis.dim)));
    for (const made of buttons.children) made.disabled = one;
    slider.disabled = one;
    slider.addEventListener('input', () => calls.choose(axis.dim, slider.valueAsNumber));
    row.append(slider, element('output'));
    return row;
  }));
};

// Puts the sliders where the index says.
export const updateSteps = (into, variable, index, playing) => {
  for (const row of into.children) {
    const axis = variable.axes.find((one) => one.dim === row.dataset.dim), text = labelOf(axis, index[axis.dim]), slider = row.querySelector('input');
    slider.value = index[axis.dim];
    slider.setAttribute('aria-valuetext', text);
    row.querySelector('output').textContent = text;
    const play = row.querySelector('button:last-child'), is = playing === axis.dim;
    play.textContent = is ? 'Stop' : 'Play';
    play.setAttribute('aria-pressed', String(is));
  }
};

// Advances from step to step until stopped: go(dim, place) resolves when that step is drawn.
export class Player {
  constructor(go, changed) {
    this.dim = null;
    this.go = go;
    this.changed = changed;
    this.rate = 0;
  }

  stop() {
    this.dim = null;
    this.changed();
  }

  // perSecond() is asked before each step.
  async play(dim, size, here, perSecond) {
    this.dim = dim;
    this.changed();
    const drawn = [];
    let due = performance.now();
    while (this.dim === dim) {
      due = Math.max(due + 1000 / perSecond(), performance.now() - 100);
      const wait = due - performance.now();
      if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
      if (this.dim !== dim) break;
      if (!(await this.go(dim, (here() + 1) % size))) return this.stop();
      await new Promise(requestAnimationFrame);
      drawn.push(performance.now());
      if (drawn.length > 21) drawn.shift();
      this.rate = drawn.length > 1 ? (drawn.length - 1) * 1000 / (drawn.at(-1) - drawn[0]) : 0;
    }
    return undefined;
  }
}
