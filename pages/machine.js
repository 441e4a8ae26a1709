// The machine, as pages/picture.h places it, and what moves over it.
const unit = 40;         // of the picture, in the SVG's own units
const most_dots = 1500;  // in flight at once; beyond that, cables only change colour
const machine = data.topology, picture = machine.picture;

// Columns become objects; places are in thousandths.
function objects(columns, in_thousandths, rising) {
  const read = Object.entries(columns).map(([key, column]) =>
      [key, rising.includes(key) ? sums(column) : spread(column).map(v => in_thousandths.includes(key) ? v / 1000 : v)]);
  return read[0][1].map((_, i) => Object.fromEntries(read.map(([key, values]) => [key, values[i]])));
}
const kinds = ['rank', 'switch', 'nic'];
const nodes = objects(picture.nodes, ['x', 'y', 'width', 'height'], []);
nodes.forEach((node, n) => {  // ranks are drawn by number, and named by their labels
  node.kind = kinds[node.kind];
  node.short = node.kind === 'rank' ? String(n) : node.name;
  node.name ||= node.short;
});
const cables = objects(picture.lines, ['from_x', 'from_y', 'to_x', 'to_y', 'bend', 'out_x', 'out_y'], ['a', 'b']).map(w => {
  const end = (n, dx, dy) => ({x: nodes[n].x + dx, y: nodes[n].y + dy, name: nodes[n].name, short: nodes[n].short});
  const from = end(w.a, w.from_x, w.from_y), to = end(w.b, w.to_x, w.to_y), out = {x: w.out_x, y: w.out_y};
  const length = w.wraps ? 2 * Math.hypot(out.x, out.y) : Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return {...w, from, to, out, length};
});
// "370.8" of a link that carries so many chunks per round; nothing where the links' units differ.
const gbs_of = (bandwidth, before = '', after = '') =>
    machine.unit_gbs ? `${before}${Number((bandwidth * machine.unit_gbs).toPrecision(4))}${after}` : '';
const links = sums(machine.links.src).map((src, l) => ({src}));
sums(machine.links.dst).forEach((dst, l) => { links[l].dst = dst; });
spread(machine.links.bandwidth).forEach((bandwidth, l) => { links[l].bandwidth = bandwidth; });

// The point of a wire at t of its length from a, a little to the right of it in the direction of travel.
function on_line(w, t, forward) {
  let x, y, dx = w.to.x - w.from.x, dy = w.to.y - w.from.y;
  if (w.wraps) {
    const far = t < 0.5 ? w.from : w.to, s = 0.75 * (t < 0.5 ? 2 * t : 2 * t - 2);
    x = far.x + s * w.out.x;
    y = far.y + s * w.out.y;
    dx = w.out.x;
    dy = w.out.y;
  } else {
    const beside = 4 * w.bend * t * (1 - t) / w.length;
    x = w.from.x + t * dx + beside * dy;
    y = w.from.y + t * dy - beside * dx;
  }
  const side = w.there && w.back ? (forward ? 0.1 : -0.1) / (Math.hypot(dx, dy) || 1) : 0;
  return {x: (x - side * dy) * unit, y: (y + side * dx) * unit};
}

// The cables of each link, with their directions.
const all_ways = sums(picture.ways);
let way_from = 0;
const ways = spread(picture.lengths).map((count, l) => {
  let at = links[l].src, length = 0;
  const parts = all_ways.slice(way_from, way_from += count).map(i => {
    const w = cables[i], forward = w.a === at;
    at = forward ? w.b : w.a;
    length += w.length;
    return {w, i, forward};
  });
  return {parts, length};
});
function along(way, t) {
  let rest = t * way.length;
  for (const [i, part] of way.parts.entries()) {
    if (rest > part.w.length && i + 1 < way.parts.length) {
      rest -= part.w.length;
      continue;
    }
    const u = Math.min(1, rest / part.w.length);
    return on_line(part.w, part.forward ? u : 1 - u, part.forward);
  }
}

function path_of(w) {
  const p = (x, y) => `${(x * unit).toFixed(1)} ${(y * unit).toFixed(1)}`;
  if (w.wraps)
    return `M${p(w.from.x, w.from.y)}L${p(w.from.x + w.out.x * 0.75, w.from.y + w.out.y * 0.75)}` +
           `M${p(w.to.x, w.to.y)}L${p(w.to.x - w.out.x * 0.75, w.to.y - w.out.y * 0.75)}`;
  if (w.bend === 0) return `M${p(w.from.x, w.from.y)}L${p(w.to.x, w.to.y)}`;
  const dx = (w.to.x - w.from.x) / w.length, dy = (w.to.y - w.from.y) / w.length;
  const x = (w.from.x + w.to.x) / 2 + 2 * w.bend * dy, y = (w.from.y + w.to.y) / 2 - 2 * w.bend * dx;
  return `M${p(w.from.x, w.from.y)}Q${p(x, y)} ${p(w.to.x, w.to.y)}`;
}

const lines = [], arrows = [], rings = [], dots = [];
const around = 2 * Math.PI * 0.28 * unit;
let moving;

function text_in(node, parent) {
  const size = Math.min(node.kind === 'rank' ? 0.34 : 0.28, 0.88 * node.width / (0.6 * node.short.length)) * unit;
  make('text', {x: node.x * unit, y: node.y * unit + 0.35 * size, 'text-anchor': 'middle', 'font-size': size}, parent, node.short);
}

function draw_machine() {
  const svg = $('machine');
  svg.setAttribute('viewBox', `0 0 ${picture.width * unit} ${picture.height * unit}`);
  svg.style.minWidth = `${Math.round(picture.width * 18)}px`;  // numbers stay legible: it scrolls where there is less room
  svg.style.maxWidth = `${Math.round(picture.width * 80)}px`;
  new ResizeObserver(([{target}]) => { $('scrolls').hidden = target.scrollWidth <= target.clientWidth; }).observe(svg.parentElement);
  const boxes = make('g', {}, svg);
  for (const [name, left, top, right, bottom, below] of picture.boxes) {
    make('rect', {x: left * unit, y: top * unit, width: (right - left) * unit, height: (bottom - top) * unit, rx: 8,
                  class: 'box'}, boxes);
    make('text', {x: (left + 0.1) * unit, y: (below ? bottom + 0.34 : top - 0.12) * unit, 'font-size': 0.28 * unit,
                  class: 'faint'}, boxes, name);
  }
  const under = make('g', {}, svg);
  const widest = cables.reduce((most, w) => Math.max(most, w.bandwidth), 1);
  for (const w of cables) {
    const width = 1.5 + 3.5 * (widest > 1 ? (w.bandwidth - 1) / (widest - 1) : 0);
    const line = make('path', {d: path_of(w), class: 'wire', 'stroke-width': width.toFixed(1)}, under);
    make('title', {}, line, `${w.from.name} ${w.there ? w.back ? '\u2194' : '\u2192' : '\u2190'} ${w.to.name}, ` +
                            `${counted(w.bandwidth, 'chunk')} per round${gbs_of(w.bandwidth, ', ', ' GB/s')}`);
    lines.push(line);
    arrows.push(w.there && w.back ? null : draw_arrow(w, under));
    if (w.wraps && w.length > 1.5)  // shorter ones have no room for a number
      for (const [at, far, sign] of [[w.from, w.to, 1], [w.to, w.from, -1]])
        make('text', {x: (at.x + sign * w.out.x) * unit, y: (at.y + sign * w.out.y) * unit + 0.08 * unit,
                      'text-anchor': 'middle', 'font-size': 0.25 * unit, class: 'faint'}, under, far.short);
  }
  moving = make('g', {}, svg);
  const above = make('g', {}, svg);
  for (const node of nodes) {
    const x = node.x * unit, y = node.y * unit, width = node.width * unit, height = node.height * unit;
    if (node.kind === 'rank') {
      make('title', {}, make('circle', {cx: x, cy: y, r: width / 2, class: 'rank', 'stroke-width': 3}, above), node.name);
      rings.push(make('circle', {cx: x, cy: y, r: width / 2, class: 'done', 'stroke-width': 3.4,
                                 'stroke-dasharray': `0 ${around}`, transform: `rotate(-90 ${x} ${y})`}, above));
    } else {
      const rect = make('rect', {x: x - width / 2, y: y - height / 2, width, height, rx: node.kind === 'nic' ? 2 : 6,
                                 class: 'switch', 'stroke-width': 1.5}, above);
      make('title', {}, rect, node.name);
    }
    if (node.kind !== 'nic') text_in(node, above);
  }
}

// In the middle of a wire that runs one way.
function draw_arrow(w, parent) {
  const tip = on_line(w, w.wraps ? 0.4 : 0.55, true), tail = on_line(w, w.wraps ? 0.3 : 0.45, true);
  const turn = Math.atan2(tip.y - tail.y, tip.x - tail.x) * 180 / Math.PI + (w.there ? 0 : 180);
  return make('path', {d: 'M6 0L-4 5V-5Z', class: 'arrow',
                       transform: `translate(${(tip.x + tail.x) / 2} ${(tip.y + tail.y) / 2}) rotate(${turn})`}, parent);
}

function colour(point, chunk) {
  const from = point.colours[chunk];
  const hue = from >= 0 ? 360 * from / machine.ranks : 360 * (chunk * 0.618034 % 1);
  return `hsl(${hue.toFixed(0)} 72% var(--dot-light))`;
}

// -- the chosen point, laid out in time --------------------------------------------------------------------------------
// The steps that are drawn, as columns, become sends [chunk, link, adds]. A schedule states how many rounds a step has, and
// not in which of them a send is: those of a link follow each other, evenly over all rounds of the step.
function steps_of(point) {
  return point.schedule.map(step => {
    const link = sums(step.link), chunk = sums(step.chunk), adds = spread(step.adds);
    return {rounds: step.rounds, completes: spread(step.completes), sends: link.map((l, i) => [chunk[i], l, adds[i]])};
  });
}
// How many of the chunks that each rank needs are complete there, before the first step and after each.
function progress_of(point, steps) {
  const progress = [spread(point.complete)];
  for (const step of steps) progress.push(progress.at(-1).map((n, r) => n + step.completes[r]));
  return progress;
}
function timetable(steps) {
  const starts = [], flights = [];
  let start = 0;
  steps.forEach((step, s) => {
    starts.push(start);
    flights.push([]);
    const number = new Map(), count = new Map();
    for (const [, link] of step.sends) count.set(link, (count.get(link) || 0) + 1);
    for (const [chunk, link, adds] of step.sends) {
      const before = number.get(link) || 0, takes = step.rounds / count.get(link);
      number.set(link, before + 1);
      flights[s].push({chunk, link, adds, from: start + before * takes, takes});
    }
    start += step.rounds;
  });
  starts.push(start);
  return {starts, flights};
}

// The dots in flight at a moment of a step with these flights.
function draw_flights(point, flights, now) {
  const busy = new Set();
  let used = 0;
  for (const f of flights) {
    const t = (now - f.from) / f.takes;
    if (t < 0 || t >= 1) continue;
    for (const part of ways[f.link].parts) busy.add(part.i);
    if (used >= most_dots) continue;
    const at = along(ways[f.link], t);
    const dot = dots[used] || (dots[used] = make('circle', {}, moving));
    dot.setAttribute('cx', at.x.toFixed(1));
    dot.setAttribute('cy', at.y.toFixed(1));
    dot.setAttribute('r', 5);
    dot.setAttribute('class', f.adds ? 'dot adds' : 'dot');
    dot.style.fill = colour(point, f.chunk);
    dot.style.visibility = 'visible';
    ++used;
  }
  for (let i = used; i < dots.length; ++i) dots[i].style.visibility = 'hidden';
  lines.forEach((line, i) => {
    line.classList.toggle('busy', busy.has(i));
    if (arrows[i]) arrows[i].classList.toggle('busy', busy.has(i));
  });
}

function draw_progress(wanted, complete) {
  rings.forEach((ring, r) => {
    const part = wanted[r] ? complete[r] / wanted[r] : 0;
    ring.setAttribute('stroke-dasharray', `${part * around} ${around}`);
  });
}
