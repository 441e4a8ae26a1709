// The page of a ranking: which placement, reduction, strategy and step is shown.
const chosen = {matrix: 0, reduction: 0, strategy: 0, step: 0};
for (const part of location.hash.slice(1).split('&')) {
  const [key, value] = part.split('=');
  if (key in chosen) chosen[key] = Number(value) || 0;
}

function inWords(instruction) {
  const form = instruction.form === 'InsideGroup' ? 'InsideGroup' : `${instruction.form}(${instruction.ancestor})`;
  return `(${instruction.slice}, ${form}, ${instruction.operation})`;
}

function colour(group, groups) {
  const hue = Math.round(group * 360 / Math.max(groups, 1) + (group % 3) * 7);
  return `hsl(${hue} 58% calc(var(--tile-light) + ${group % 2 ? -4 : 4}%))`;
}

const matrixText = rows => rows.map(row => `[${row.join(' ')}]`).join(' ');

// Axes inside of a level, the slowest first, where they are not in the order in which they were given.
function ordersText(matrix) {
  const split = (matrix.orders || []).map((order, j) => order.filter(axis => matrix.matrix[axis][j] > 1));
  return split.map((axes, j) => axes.every((axis, k) => k === 0 || axes[k - 1] < axis) ? ''
    : `, ${data.hierarchy.levels[j].name} by ${axes.map(axis => data.job.axes[axis].name).join(' then ')}`).join('');
}

// What the command prints, but for the two tables that are drawn below.
function showReport() {
  const {sentences, tables} = data.report;
  const shown = tables.filter(table => table.title === tables[0].title || table.title === 'Sizes').map(table => {
    const scroll = element('div', undefined, 'scroll');
    scroll.append(table_element(table));
    return scroll;
  });
  $('report').append(...sentences.map(text => element('p', text)), ...shown);
}

function showMatrices() {
  $('head').replaceChildren(element('tr'));
  for (const [text, n] of [['#', 1], [data.job.axes.map(a => a.name).join(', ')], ['best', 1], ['AllReduce', 1], ['speedup', 1]])
    $('head').firstChild.append(element('th', text, n ? 'n' : ''));
  const slowest = Math.max(...data.best.map(m => m.us), 1e-9);
  $('matrices').replaceChildren(...data.best.map((m, i) => {
    const row = element('tr', undefined, i === chosen.matrix ? 'chosen' : '');
    row.append(element('td', i + 1, 'n'), element('td', matrixText(m.matrix) + ordersText(m)));
    const cell = element('td', time(m.us), 'n');
    const bar = element('div', undefined, 'bar');
    bar.style.width = `${Math.max(1, 100 * m.us / slowest)}%`;
    cell.append(bar);
    row.append(cell, element('td', time(m.allreduce_us), 'n'),
               element('td', m.us > 0 ? `${(m.allreduce_us / m.us).toFixed(2)}x` : '', 'n'));
    row.onclick = () => { Object.assign(chosen, {matrix: i, reduction: 0, strategy: 0, step: 0}); show(); };
    return row;
  }));
}

function buttons(where, texts, key) {
  $(where).replaceChildren(...(texts.length < 2 ? [] : texts.map((text, i) => {
    const button = element('button', text, i === chosen[key] ? 'chosen' : '');
    button.onclick = () => {
      chosen[key] = i;
      if (key === 'reduction') chosen.strategy = 0;
      chosen.step = 0;
      show();
    };
    return button;
  })));
}

function drawMachine(instruction) {
  const levels = data.hierarchy.levels;
  const devices = levels.reduce((product, level) => product * level.fan_out, 1);
  const groups = instruction && instruction.groups;
  if (devices > 4096 || (instruction && !groups)) {
    $('machine').replaceChildren(element('p', `${devices} devices: too many to draw.`, 'soft'));
    return;
  }
  const groupOf = new Array(devices).fill(-1), first = new Set();
  (groups || []).forEach((group, g) => { first.add(group[0]); group.forEach(d => { groupOf[d] = g; }); });
  const tiles = [];
  function unit(level, number) {
    if (level === levels.length) {
      const g = groupOf[number];
      const tile = element('div', number, `device${g < 0 ? ' idle' : ''}${first.has(number) ? ' root' : ''}`);
      if (g >= 0) tile.style.background = colour(g, groups.length);
      tile.title = g < 0 ? `device ${number} takes no part` : `device ${number}, group {${groups[g].join(', ')}}`;
      tile.onmouseenter = () => tiles.forEach((t, d) => t.classList.toggle('same', g >= 0 && groupOf[d] === g));
      tile.onmouseleave = () => tiles.forEach(t => t.classList.remove('same'));
      tiles[number] = tile;
      return tile;
    }
    const box = element('div', undefined, 'unit');
    box.append(element('div', level === 0 ? data.hierarchy.hierarchy : `${levels[level - 1].name} ${number}`, 'label'));
    const children = element('div', undefined, 'children');
    for (let child = 0; child < levels[level].fan_out; ++child)
      children.append(unit(level + 1, number * levels[level].fan_out + child));
    box.append(children);
    return box;
  }
  $('machine').replaceChildren(unit(0, 0));
}

// When each reduction runs, where some run side by side: a bar each, to be chosen by.
function showSpans(matrix) {
  const all = matrix.one_by_one_us === undefined ? [] : matrix.reductions;
  $('spans').replaceChildren(...all.map((r, i) => {
    const row = element('div', undefined, `span${i === chosen.reduction ? ' chosen' : ''}`);
    row.append(element('span', `${r.reduction || 'reduction'}: ${time(r.from_us)} to ${time(r.to_us)}`));
    const lane = element('div', undefined, 'lane'), bar = element('div', undefined, 'bar');
    const whole = Math.max(matrix.us, 1e-9);
    bar.style.marginLeft = `${100 * r.from_us / whole}%`;
    bar.style.width = `${Math.max(0.5, 100 * (r.to_us - r.from_us) / whole)}%`;
    lane.append(bar);
    row.append(lane);
    row.onclick = () => { Object.assign(chosen, {reduction: i, strategy: 0, step: 0}); show(); };
    return row;
  }));
  if (all.length) $('spans').append(element('p', `${time(matrix.us)} side by side, ${time(matrix.one_by_one_us)} one by one`, 'soft'));
}

function show() {
  showMatrices();
  const matrix = data.best[chosen.matrix];
  if (!matrix) return;
  const reduction = matrix.reductions[chosen.reduction];
  $('chosen').textContent = `Number ${chosen.matrix + 1}: ${matrixText(matrix.matrix)}${ordersText(matrix)}` +
    (reduction.programs > 0 ? `; ${counted(reduction.programs, 'strategy', 'strategies')} of at most five instructions, ` +
      `${reduction.faster} faster than one AllReduce` : '');
  showSpans(matrix);
  buttons('reductions', matrix.reductions.map(r => r.reduction || 'reduction'), 'reduction');
  buttons('strategies', reduction.strategies.map((s, i) => `strategy ${i + 1}: ${time(s.us)}`), 'strategy');
  const strategy = reduction.strategies[chosen.strategy];
  const instructions = strategy ? strategy.instructions : [];
  $('steps').replaceChildren(...instructions.map((instruction, i) => {
    const row = element('tr', undefined, i === chosen.step ? 'chosen' : '');
    const words = element('td');
    words.append(element('code', inWords(instruction)));
    row.append(element('td', i + 1, 'n'), words, element('td', time(instruction.us), 'n'), element('td', instruction.binding),
               element('td', instruction.rings > 1 ? `${instruction.rings} at once` : ''));
    row.onclick = () => { chosen.step = i; show(); };
    return row;
  }));
  const instruction = instructions[chosen.step];
  const groups = instruction && instruction.groups;
  $('legend').textContent = reduction.exchange
    ? `One step: ${time(reduction.exchange.us)}, of it latency ${time(reduction.exchange.latency_us)}, bound by ${reduction.exchange.binding}.`
    : !instruction ? 'Every device has its sum already.'
    : !groups ? '' : `step ${chosen.step + 1}: ${counted(groups.length, 'group')} of ${groups[0].length}; ` +
      'one colour a group, a frame for its first device; grey takes no part';
  drawMachine(instruction);
}

// Another number of a choice, where there is one.
function move(key, by, count) {
  const next = chosen[key] + by;
  if (!(next >= 0 && next < count)) return;
  chosen[key] = next;
  if (key === 'matrix') Object.assign(chosen, {reduction: 0, strategy: 0});
  if (key !== 'step') chosen.step = 0;
  show();
}
function stepsShown() {
  const reduction = data.best[chosen.matrix].reductions[chosen.reduction];
  const strategy = reduction && reduction.strategies[chosen.strategy];
  return strategy ? strategy.instructions.length : 0;
}

$('title').textContent = data.report.title;
if (data.best.length === 0) {
  document.querySelector('main').replaceChildren(element('section', 'No placement was priced: nothing to show.'));
  listen([]);
} else {
  const inside = (key, count) => { chosen[key] = Math.max(0, Math.min(Math.round(chosen[key]), count - 1)); };
  inside('matrix', data.best.length);
  inside('reduction', data.best[chosen.matrix].reductions.length);
  const {strategies} = data.best[chosen.matrix].reductions[chosen.reduction];
  inside('strategy', Math.max(1, strategies.length));
  inside('step', Math.max(1, stepsShown()));
  showReport();
  listen([[['ArrowLeft'], 'to the step before', () => move('step', -1, stepsShown())],
          [['ArrowRight'], 'to the next step', () => move('step', 1, stepsShown())],
          [['Home'], 'to the first step', () => move('step', -chosen.step, stepsShown())],
          [['End'], 'to the last step', () => move('step', stepsShown() - 1 - chosen.step, stepsShown())],
          [['ArrowUp'], 'the placement before', () => move('matrix', -1, data.best.length)],
          [['ArrowDown'], 'the next placement', () => move('matrix', 1, data.best.length)],
          [['0 .. 9'], 'the placement of that number', key => move('matrix', Number(key) - 1 - chosen.matrix, data.best.length)]]);
  show();
}
