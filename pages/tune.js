// The page of a tuner's result: which schedule is shown.
const all = data.candidates, ranking = data.ranking;
const rankOf = new Map(ranking.map((candidate, rank) => [candidate, rank]));
const children = all.map(() => []);
all.forEach((c, i) => { if (c.parent >= 0) children[c.parent].push(i); });
let chosen = Math.max(0, Math.min(ranking.length - 1, Number(location.hash.slice(1)) || 0));

const stepOf = c => c.step || 'as it was given';
const us = c => c.measured_us === undefined ? c.price_us : c.measured_us;
const unitsOf = c => c.runs.flatMap(run => run.units.map(unit => ({...unit, overlap: run.overlap, pieces: run.pieces})));
const colour = (i, n) => `hsl(${Math.round(i * 360 / Math.max(n, 1))} 58% calc(var(--tile-light) + ${i % 2 ? -6 : 2}%))`;

// How a schedule is carried out, in words.
function executionWords(execution) {
  return [...(execution.points || []).map(p => `${p.operation} in ${counted(p.cost[0], 'step')} and ${p.cost[1]}/${p.cost[2]} rounds`),
          ...(execution.pieces || []).map(p => `${p.overlap} in ${counted(p.pieces, 'piece')}`),
          ...(execution.block ? [`blocks of ${execution.block}`] : []),
          ...(execution.channels ? [counted(execution.channels, 'channel')] : [])].join(', ');
}

function showRanking() {
  const slowest = Math.max(...all.map(c => c.price_us), 1e-9);
  $('ranking').replaceChildren(...ranking.map((candidate, rank) => {
    const c = all[candidate], row = element('tr', undefined, rank === chosen ? 'chosen' : ''), words = element('td');
    words.append(element('code', stepOf(c)));
    const cell = element('td', time(c.price_us), 'n'), bar = element('div', undefined, 'bar');
    bar.style.width = `${Math.max(1, 100 * c.price_us / slowest)}%`;
    cell.append(bar);
    row.append(element('td', rank + 1, 'n'), words, cell, element('td', c.failure ? 'failed' : time(c.measured_us), 'n'));
    row.onclick = () => choose(rank);
    return row;
  }));
}

// The units of a schedule, as wide as the times of runs are: units of one run share its time by what each takes alone.
function stack(title, c, longest) {
  const box = document.createDocumentFragment(), bar = element('div', undefined, 'stack');
  box.append(element('div', `${title}: ${time(c.price_us)}`, 'soft'), bar);
  const count = unitsOf(c).length;
  let i = 0;
  for (const run of c.runs) {
    const alone = run.units.reduce((sum, unit) => sum + unit.us, 0) || 1;
    for (const unit of run.units) {
      const part = element('div');
      part.style.width = `${100 * run.us * unit.us / alone / longest}%`;
      part.style.background = colour(i++, count);
      part.title = `${unit.unit}: ${time(unit.us)}${run.overlap ? `, overlapped in ${counted(run.pieces, 'piece')}` : ''}`;
      bar.append(part);
    }
  }
  return box;
}

function why(c) {
  const plain = all[0], gain = plain.price_us / c.price_us;
  if (c === plain) return 'The program as it was given, by units';
  const saved = key => unitsOf(plain).reduce((s, u) => s + u[key], 0) - unitsOf(c).reduce((s, u) => s + u[key], 0);
  const reasons = [['launch_us', 'launches'], ['steps_us', 'steps'], ['moved_us', 'links'], ['memory_us', 'memory'], ['compute_us', 'arithmetic']]
    .map(([key, word]) => [saved(key), word]).filter(([by]) => by > 0.005 * plain.price_us).sort((a, b) => b[0] - a[0])
    .map(([by, word]) => `${time(by)} of ${word}`);
  const overlapped = c.runs.filter(run => run.overlap).reduce((s, run) => s + run.units.reduce((t, u) => t + u.us, 0) - run.us, 0);
  if (overlapped > 0.005 * plain.price_us) reasons.push(`${time(overlapped)} by overlapping`);
  const factor = gain >= 1 ? `${gain.toFixed(2)} times faster` : `${(1 / gain).toFixed(2)} times slower`;
  return `${factor} than the program as it was given${reasons.length ? ': saves ' + reasons.join(', ') : ''}`;
}

function drawTree() {
  const svg = $('tree'), at = [], deepest = Math.max(...all.map(c => c.depth));
  let row = 0;
  (function place(i) {  // leaves one under the other, a schedule beside the first of those that come of it
    const first = row;
    children[i].forEach(place);
    if (children[i].length === 0) ++row;
    at[i] = {x: 20 + all[i].depth * 110, y: 16 + first * 20};
  })(0);
  const width = 40 + deepest * 110, height = 16 + row * 20;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  const path = new Set();
  for (let i = ranking[chosen]; i >= 0; i = all[i].parent) path.add(i);
  const best = Math.min(...all.map(c => c.price_us));
  svg.replaceChildren();
  all.forEach((c, i) => {
    if (c.parent >= 0) {
      const from = at[c.parent];
      make('line', {x1: from.x, y1: from.y, x2: at[i].x, y2: at[i].y, class: path.has(i) ? 'path' : ''}, svg);
    }
  });
  all.forEach((c, i) => {
    const dot = make('circle', {cx: at[i].x, cy: at[i].y, r: 6,
      class: `${i === ranking[chosen] ? 'chosen' : ''} ${c.measured_us === undefined ? '' : 'measured'}`}, svg);
    dot.style.fill = `color-mix(in srgb, var(--mark) ${Math.round(100 * best / c.price_us)}%, var(--paper))`;
    make('title', {}, dot, `number ${rankOf.get(i) + 1}: ${time(us(c))}: ${stepOf(c)}`);
    dot.addEventListener('click', () => choose(rankOf.get(i)));
  });
}

function choose(rank) {
  if (!(rank >= 0 && rank < ranking.length)) return;
  chosen = rank;
  show();
}

function show() {
  showRanking();
  const c = all[ranking[chosen]];
  $('chosen').textContent = `Number ${chosen + 1}: ${time(c.price_us)} predicted` +
    (c.measured_us === undefined ? '' : `, ${time(c.measured_us)} measured`);
  $('steps').replaceChildren(...(c.script ? c.script.split('; ') : []).reduce((steps, part) => {  // "reorder(a; b)" is one
    const open = steps.length && steps.at(-1).split('(').length > steps.at(-1).split(')').length;
    if (open) steps.push(`${steps.pop()}; ${part}`); else steps.push(part);
    return steps;
  }, []).map(step => {
    const item = element('li');
    item.append(element('code', step));
    return item;
  }));
  const words = executionWords(c.execution), measurements = c.measurements || [];
  $('execution').textContent = (c.failure ? `Failed when it was measured: ${c.failure}. ` : '') + (words ? `Carried out so: ${words}.` : '');
  $('measured').hidden = measurements.length === 0;
  $('measurements').replaceChildren(...measurements.map(m => {
    const row = element('tr', undefined, m.us === c.measured_us ? 'chosen' : '');
    row.append(element('td', time(m.us), 'n'), element('td', m.with), element('td', executionWords(m.execution)));
    return row;
  }));
  $('why').textContent = why(c);
  const longest = Math.max(all[0].price_us, c.price_us);
  $('bars').replaceChildren(stack('this schedule', c, longest), ...(c === all[0] ? [] : [stack('as it was given', all[0], longest)]));
  $('units').replaceChildren(...unitsOf(c).map((unit, i, list) => {
    const row = element('tr'), name = element('td', unit.unit + (unit.overlap ? ` (overlapped: ${unit.overlap})` : ''));
    name.style.borderLeft = `6px solid ${colour(i, list.length)}`;
    name.style.paddingLeft = '8px';
    row.append(name, ...['us', 'launch_us', 'steps_us', 'moved_us', 'memory_us', 'compute_us'].map(key => element('td', time(unit[key]), 'n')));
    return row;
  }));
  drawTree();
}

$('title').textContent = data.report.title;
$('summary').replaceWith(...data.report.sentences.concat(data.report.notes).map(text => element('p', text)));
listen([[['ArrowUp'], 'the schedule before', () => choose(chosen - 1)],
        [['ArrowDown'], 'the next schedule', () => choose(chosen + 1)],
        [['ArrowLeft'], 'the schedule that it was made from', () => { const p = all[ranking[chosen]].parent; if (p >= 0) choose(rankOf.get(p)); }],
        [['ArrowRight'], 'the best that is made from it', () => {
          const next = children[ranking[chosen]].map(i => rankOf.get(i));
          if (next.length) choose(Math.min(...next));
        }],
        [['Home'], 'the best', () => choose(0)],
        [['End'], 'the worst', () => choose(ranking.length - 1)],
        [['0 .. 9'], 'the schedule of that number', key => choose(Number(key) - 1)]]);
show();
