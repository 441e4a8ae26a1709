// The frontier: steps to the right, rounds per chunk upwards. Filled points are proven, hollow ones are not: a dashed line
// leads down from these to what is not excluded.
const rate = p => p.rounds / p.chunks;
function fraction(rounds, chunks) {
  const text = reduced(rounds, chunks);
  return text.includes('/') ? `${text} = ${(rounds / chunks).toFixed(3)}` : text;
}

// A step of 1, 2 or 5 times a power of ten that parts the span into at most `most`.
function tick_of(span, most) {
  let power = Math.pow(10, Math.floor(Math.log10(span / most)));
  for (const times of [1, 2, 5, 10]) if (span / (power * times) <= most) return power * times;
}

function even_ticks(most, room) {
  const every = Math.max(1, Math.round(tick_of(most, room)));
  return Array.from({length: Math.floor(most / every) + 1}, (_, i) => i * every);
}

// 1, 2, 5, 10, 20, ... between the two.
function ticks_of_decades(low, high) {
  const ticks = [];
  for (let power = 1; power <= high; power *= 10)
    for (const times of [1, 2, 5]) if (power * times >= low && power * times <= high) ticks.push(power * times);
  return ticks;
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

// A label where it covers nothing; none if there is no such place (the table has it).
function place_label(svg, text, x, y, box, taken, css) {
  const width = 7.4 * text.length, height = 16;
  for (const [dx, dy, anchor] of [[10, -8, 0], [12, 5, 0], [10, 18, 0], [0, -13, 0.5], [0, 25, 0.5], [-10, -8, 1], [-12, 5, 1], [-10, 18, 1]]) {
    const at = {left: x + dx - anchor * width, top: y + dy - 12, right: 0, bottom: 0};
    at.right = at.left + width;
    at.bottom = at.top + height;
    if (at.left < box.left + 3 || at.right > box.right + 20 || at.top < 1 || at.bottom > box.bottom - 2) continue;
    if (taken.some(other => overlap(at, other))) continue;
    taken.push(at);
    make('text', {x: at.left, y: at.top + 12, class: css || ''}, svg, text);
    return;
  }
}

function draw_frontier(points, bound_of, chosen, choose) {
  const svg = $('frontier');
  svg.textContent = '';
  const width = Math.max(260, svg.clientWidth), height = 340;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('font-size', 13);
  const box = {left: 66, right: width - 22, top: 16, bottom: height - 54};
  const bound = bound_of[0] > 0 ? bound_of[0] / bound_of[1] : null;
  const most_steps = Math.max(...points.map(p => p.steps)) + 1;
  const least = p => p.least[0] / p.least[1];
  const rates = points.flatMap(p => p.least ? [rate(p), least(p)] : [rate(p)]).concat(bound === null ? [] : [bound]);
  const span = Math.max(...rates) - Math.min(...rates) || Math.max(1, Math.max(...rates) / 4);
  const low = Math.max(0, Math.min(...rates) - 0.18 * span), high = Math.max(...rates) + 0.18 * span;
  const fewest = Math.max(1, Math.min(...points.map(p => p.steps)));
  const logarithmic = most_steps > 10 * fewest;  // more than a decade
  const x = logarithmic
      ? s => box.left + 12 + (box.right - box.left - 12) * Math.log(Math.max(s, fewest) / fewest) / Math.log(most_steps / fewest)
      : s => box.left + (box.right - box.left) * s / most_steps;
  const y = v => box.bottom - (box.bottom - box.top) * (v - low) / (high - low);
  make('path', {d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`, class: 'axis'}, svg);
  for (const s of logarithmic ? ticks_of_decades(fewest, most_steps) : even_ticks(most_steps, (box.right - box.left) / 34))
    make('text', {x: x(s), y: box.bottom + 17, 'text-anchor': 'middle'}, svg, s);
  make('text', {x: (box.left + box.right) / 2, y: box.bottom + 42, 'text-anchor': 'middle', class: 'faint'}, svg,
       `steps (latency)${logarithmic ? ', logarithmic' : ''}`);
  const tick = tick_of(high - low, 5), digits = Math.max(0, -Math.floor(Math.log10(tick) + 1e-9));
  for (let v = Math.ceil(low / tick) * tick; v <= high; v += tick)
    make('text', {x: box.left - 7, y: y(v) + 4, 'text-anchor': 'end'}, svg, v.toFixed(digits));
  make('text', {x: 14, y: 151, transform: 'rotate(-90 14 151)', 'text-anchor': 'middle', class: 'faint'}, svg,
       'rounds per chunk (bandwidth)');

  const best = points.filter(p => p.frontier).sort((a, b) => a.steps - b.steps);
  let d = '';
  best.forEach((p, i) => { d += (i ? `H${x(p.steps)}V${y(rate(p))}` : `M${x(p.steps)} ${y(rate(p))}`); });
  const lines = best.slice(1).flatMap((p, i) => {  // of the steps; labels keep off them
    const left = x(best[i].steps), right = x(p.steps), top = y(rate(best[i])), bottom = y(rate(p));
    return [{left, right, top: top - 1, bottom: top + 1}, {left: right - 1, right: right + 1, top, bottom}];
  });
  if (best.length) {
    const last = best[best.length - 1];
    lines.push({left: x(last.steps), right: box.right, top: y(rate(last)) - 1, bottom: y(rate(last)) + 1});
  }
  if (bound !== null) {
    lines.push({left: box.left, right: box.right, top: y(bound) - 1, bottom: y(bound) + 1});
    const line = make('path', {d: `M${box.left} ${y(bound)}H${box.right}`, class: 'bound', 'stroke-dasharray': '6 4'}, svg);
    make('title', {}, line, 'no schedule, of however many steps, has fewer rounds per chunk');
  }
  for (const p of points.filter(p => p.least)) {
    lines.push({left: x(p.steps) - 4, right: x(p.steps) + 4, top: y(rate(p)), bottom: y(least(p)) + 1});
    const line = make('path', {d: `M${x(p.steps)} ${y(rate(p))}V${y(least(p))}m-4 0h8`, class: 'gap', 'stroke-dasharray': '3 3'}, svg);
    make('title', {}, line, `with ${counted(p.steps, 'step')} at least ${fraction(...p.least)} rounds per chunk`);
  }
  if (d) make('path', {d: d + `H${box.right}`, class: 'steps', 'stroke-width': 1.5}, svg);

  const taken = points.map(p => ({left: x(p.steps) - 7, right: x(p.steps) + 7, top: y(rate(p)) - 7, bottom: y(rate(p)) + 7})).concat(lines);
  points.map((p, i) => [p, i]).sort((a, b) => a[0].frontier - b[0].frontier).forEach(([p, i]) => {
    const css = ['point-mark', p.proven ? '' : 'unproven', p.frontier ? '' : 'dominated'].join(' ');
    const at = {cx: x(p.steps), cy: y(rate(p))};
    if (p === chosen) make('circle', {...at, r: 9.5, class: 'halo', 'stroke-width': 2.5}, svg);
    const mark = make('circle', {...at, r: p.frontier ? 6 : 4, class: css, 'stroke-width': p.proven ? 1 : 2.2}, svg);
    make('title', {}, mark, `point ${i}: ${counted(p.steps, 'step')}, ${counted(p.rounds, 'round')}, ` +
         `${counted(p.chunks, 'chunk')}; ${p.proven ? `proven: ${p.certificate}` : p.certificate}`);
    mark.addEventListener('click', () => choose(i));
  });
  const labelled = new Set();
  for (const p of [chosen, ...best]) {
    const text = `(${p.steps}, ${reduced(p.rounds, p.chunks)})`;
    if (labelled.has(text)) continue;
    labelled.add(text);
    place_label(svg, text, x(p.steps), y(rate(p)), box, taken);
  }
  if (bound !== null)
    place_label(svg, `bound ${reduced(bound_of[0], bound_of[1])}`, box.left, y(bound), box, taken, 'bound-text');
}
