// The keyboard: on the map, and the two keys that work everywhere but in fields.

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const MOVE = 60, CROSS = 8;

// Calls: move(right, down), cross(right, down), zoom(factor), fit(), choose(), step(steps), level(steps), play(),
// project(name), search(), help().
export const keys = (surface, calls) => {
  surface.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    const simple = {
      '+': () => calls.zoom(1.4), '=': () => calls.zoom(1.4), '-': () => calls.zoom(1 / 1.4), 0: calls.fit, Enter: calls.choose, ',': () => calls.step(-1), '.': () => calls.step(1),
      ' ': calls.play, PageUp: () => calls.level(1), PageDown: () => calls.level(-1), f: () => calls.project('flat'), n: () => calls.project('north'), s: () => calls.project('south'),
    }[event.key];
    if (!arrow && !simple) return;
    event.preventDefault();
    if (!arrow) simple();
    else if (event.shiftKey) calls.cross(arrow[0] * CROSS, arrow[1] * CROSS);
    else calls.move(-arrow[0] * MOVE, -arrow[1] * MOVE);
  });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, select, textarea')) return;
    const act = { '/': calls.search, '?': calls.help }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
};
