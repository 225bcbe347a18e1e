// Fingers, the mouse and the wheel on the map. One finger drags, two move and zoom, three swiped sideways step in
// time; a finger that rests shows the value under it; a tap or a click chooses the place.

const TAP_PIXELS = 8, HOLD_MS = 450, SWIPE_PIXELS = 60;

// Calls back: move(right, down), zoom(factor, point), hover(point or null), choose(point), swipe(steps).
export const gestures = (surface, calls) => {
  const fingers = new Map();
  let moved = 0, most = 0, holding = false, timer = 0, swiped = 0;
  const pointOf = (event) => {
    const frame = surface.getBoundingClientRect();
    return [event.clientX - frame.left - surface.clientLeft, event.clientY - frame.top - surface.clientTop];
  };
  const middle = () => {
    const all = [...fingers.values()];
    return [0, 1].map((part) => all.reduce((sum, one) => sum + one[part], 0) / all.length);
  };
  const spread = () => {
    const [x, y] = middle();
    return Math.max(...[...fingers.values()].map((one) => Math.hypot(one[0] - x, one[1] - y)), 1);
  };
  const begin = (event) => {
    if (event.pointerType === 'mouse' && event.button !== 0) return;
    surface.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, pointOf(event));
    most = Math.max(most, fingers.size);
    clearTimeout(timer);
    if (fingers.size > 1) {
      holding = false;
      calls.hover(null);
      return;
    }
    [moved, most, holding, swiped] = [0, 1, false, 0];
    if (event.pointerType === 'mouse') return;
    const here = pointOf(event);
    timer = setTimeout(() => {
      holding = true;
      calls.hover(here);
    }, HOLD_MS);
  };
  const move = (event) => {
    const point = pointOf(event), before = fingers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === 'mouse' || event.pointerType === 'pen') calls.hover(point);
      return;
    }
    const [centre, wide] = [middle(), spread()];
    fingers.set(event.pointerId, point);
    const [x, y] = middle(), [right, down] = [x - centre[0], y - centre[1]];
    moved += Math.hypot(right, down);
    if (holding) {
      calls.hover(point);
    } else if (fingers.size > 2) {
      swiped += right;
    } else if (fingers.size === 2 || moved > TAP_PIXELS) {
      clearTimeout(timer);
      if (event.pointerType === 'mouse') calls.hover(null);
      calls.move(right, down);
      if (fingers.size === 2) calls.zoom(spread() / wide, [x, y]);
    }
  };
  const end = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    clearTimeout(timer);
    if (fingers.size) return;
    if (most > 2 && Math.abs(swiped) > SWIPE_PIXELS) calls.swipe(swiped < 0 ? 1 : -1);
    else if (event.type === 'pointerup' && most === 1 && !holding && moved <= TAP_PIXELS) calls.choose(pointOf(event));
    if (event.pointerType !== 'mouse') calls.hover(null);
    most = 0;
  };
  surface.addEventListener('pointerdown', begin);
  surface.addEventListener('pointermove', move);
  for (const name of ['pointerup', 'pointercancel']) surface.addEventListener(name, end);
  surface.addEventListener('pointerleave', () => fingers.size || calls.hover(null));
  surface.addEventListener('wheel', (event) => {
    event.preventDefault();
    calls.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), pointOf(event));
  }, { passive: false });
};
