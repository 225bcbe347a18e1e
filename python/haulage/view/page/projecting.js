// Where longitudes and latitudes lie on the paper, and the paper on the screen. Pure functions.
// Paper: degrees in the flat projection; in the polar ones the pole is at 0, 0 and the equator has radius 1.
// A view: { projection, x, y, span }: what is at the centre, and how much paper the width of the screen shows.

const RADIANS = Math.PI / 180;
export const PROJECTIONS = { flat: 'Flat', north: 'North pole', south: 'South pole' };
export const turned = (degrees) => ((degrees + 180) % 360 + 360) % 360 - 180;

export const onPaper = (projection, longitude, latitude) => {
  if (projection === 'flat') return [longitude, latitude];
  const sign = projection === 'north' ? 1 : -1, angle = longitude * RADIANS;
  const radius = Math.tan((90 - Math.max(-80, sign * latitude)) / 2 * RADIANS);
  return [radius * Math.sin(angle), -sign * radius * Math.cos(angle)];
};

// Longitude and latitude of a place on the paper; null beyond the edge of the world.
export const offPaper = (projection, x, y) => {
  if (projection === 'flat') return Math.abs(y) <= 90 ? [turned(x), y] : null;
  const sign = projection === 'north' ? 1 : -1, radius = Math.hypot(x, y);
  if (radius > 1) return null;
  return [Math.atan2(x, -sign * y) / RADIANS, sign * (90 - 2 * Math.atan(radius) / RADIANS)];
};

export const toScreen = (view, size, [x, y]) => {
  const unit = size.width / view.span;
  return [size.width / 2 + (x - view.x) * unit, size.height / 2 - (y - view.y) * unit];
};
export const fromScreen = (view, size, [left, top]) => {
  const unit = view.span / size.width;
  return [view.x + (left - size.width / 2) * unit, view.y - (top - size.height / 2) * unit];
};

// How much paper the whole world takes.
const worldOf = (projection) => (projection === 'flat' ? [360, 180] : [2, 2]);
const wholeSpan = (projection, size) => {
  const [wide, high] = worldOf(projection);
  return Math.max(wide, high * size.width / size.height);
};

// The nearest view that does not leave the world.
export const bounded = (view, size) => {
  const [wide, high] = worldOf(view.projection);
  const span = Math.min(wholeSpan(view.projection, size), Math.max(wide / 40_000, view.span));
  const room = (all, shown) => Math.max(0, (all - shown) / 2);
  const clamp = (value, most) => Math.max(-most, Math.min(most, value));
  const x = view.projection === 'flat' ? (span >= wide ? clamp(turned(view.x), 180) : turned(view.x)) : clamp(view.x, room(wide, span));
  return { projection: view.projection, span, x, y: clamp(view.y, room(high, span * size.height / size.width)) };
};

// The view that shows all within an extent { west, east, south, north }.
export const fitted = (projection, size, extent) => {
  const whole = { projection, x: 0, y: 0, span: wholeSpan(projection, size) };
  if (!extent) return whole;
  if (projection === 'flat') {
    const { west, east, south, north } = extent;
    if (east - west > 350) return { ...whole, x: Math.round((west + east) / 2) };
    const span = Math.max((east - west) * 1.08, (north - south) * 1.08 * size.width / size.height, 0.01);
    return bounded({ projection, x: (west + east) / 2, y: (south + north) / 2, span }, size);
  }
  // Only how near the equator the data come counts; the pole stays at the centre.
  const nearest = projection === 'north' ? extent.south : -extent.north;
  const radius = Math.min(1, Math.tan((90 - Math.max(0, nearest)) / 2 * RADIANS) * 1.05);
  return bounded({ ...whole, span: 2 * Math.max(radius, 0.01) * Math.max(1, size.width / size.height) }, size);
};

// The view in which the place under a point of the screen stays there.
export const zoomed = (view, size, factor, point) => {
  const [x, y] = fromScreen(view, size, point);
  const span = bounded({ ...view, span: view.span / factor }, size).span, left = span / view.span;
  return bounded({ ...view, span, x: x - (x - view.x) * left, y: y - (y - view.y) * left }, size);
};
export const moved = (view, size, right, down) => {
  const unit = view.span / size.width;
  return bounded({ ...view, x: view.x - right * unit, y: view.y + down * unit }, size);
};

// By how many turns around the world the flat map is to be drawn so that it fills the view.
export const copies = (view, west, east) => {
  if (view.projection !== 'flat') return [0];
  const half = Math.min(view.span, 360) / 2, found = [];
  for (const turn of [-360, 0, 360]) if (west + turn < view.x + half && east + turn > view.x - half) found.push(turn);
  return found;
};
