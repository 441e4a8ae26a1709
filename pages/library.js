// The page of a library: which place and which size are looked at.
const places = data.places;
const sizes = [...new Set(places.flatMap(p => p.rows.map(row => row.bytes)))].sort((a, b) => a - b);
let place = Math.max(0, Math.min(places.length - 1, Number(location.hash.slice(1)) || 0)), size = 0;

const over = row => row.least_us > 0 ? row.us / row.least_us : 1;
const name_of = p => `${p.collective}${p.rooted ? ` from ${p.root}` : ''}`;
const group_of = p => p.group === 'all' ? 'all ranks' : `${p.group}${p.group === 'pairs' ? ` ${p.members}` : ''}`;
// Of times over several libraries those over the first are compared.
const compared = p => p.measured.filter(m => m.over === p.measured[0].over);
const own = (p, n) => compared(p).filter(m => m.point < 0 && m.bytes === n);
const of_points = (p, n) => compared(p).filter(m => m.point >= 0 && m.bytes === n);
const least = list => list.reduce((best, m) => best === undefined || m.median_us < best.median_us ? m : best, undefined);

// The measured choice is another point than the predicted one, or a point takes twice or half what was predicted.
function disagreement(p, row) {
  const best = least(of_points(p, row.bytes)), same = of_points(p, row.bytes).find(m => m.point === row.point), words = [];
  if (best && best.point !== row.point)
    words.push(`point ${best.point} was the fastest, ${time(best.median_us)}; point ${row.point} was predicted to be`);
  if (same && (same.median_us > 2 * row.us || same.median_us < row.us / 2))
    words.push(`point ${row.point} took ${time(same.median_us)}; predicted were ${time(row.us)}`);
  const theirs = least(own(p, row.bytes));
  if (theirs && best && theirs.median_us < best.median_us)
    words.push(`the ${theirs.over} library's own was faster, ${time(theirs.median_us)}`);
  return words;
}

// GB/s, three digits.
const rate_of = gbs => gbs ? Number(gbs.toPrecision(3)) : '';

function show_grid() {
  const head = element('tr');
  head.append(element('th', 'machine'), element('th', 'ranks'), element('th', 'collective'), ...sizes.map(n => element('th', bytes(n), 'n')));
  $('sizes').replaceChildren(head);
  $('rows').replaceChildren(...places.map((p, i) => {
    const row = element('tr', undefined, i === place ? 'chosen' : '');
    row.append(element('td', p.machine), element('td', `${group_of(p)} (${p.ranks})`), element('td', name_of(p)));
    sizes.forEach((n, s) => {
      const found = p.rows.find(r => r.bytes === n), cell = element('td', undefined, 'size');
      if (found) {
        const point = p.points[found.point];
        cell.append(`${point.steps}, ${reduced(point.rounds, point.chunks)}`, element('small', over(found) < 1.005 ? '1' : over(found).toFixed(2)));
        cell.style.background = `color-mix(in srgb, var(--mark) ${Math.round(34 / Math.max(1, over(found)) ** 2)}%, var(--paper))`;
        cell.title = `${name_of(p)}, ${bytes(n)}: ${point.origin}, ${time(found.us)}; no schedule is faster than ${time(found.least_us)}`;
        if (disagreement(p, found).length) cell.classList.add('differs');
        if (i === place && s === size) cell.classList.add('picked');
        cell.onclick = () => choose(i, s);
      }
      row.append(cell);
    });
    row.firstChild.onclick = () => choose(i, size);
    return row;
  }));
}

// Both axes by powers.
function draw(p) {
  const svg = $('plot'), width = Math.max(260, svg.clientWidth), height = 320;
  svg.replaceChildren();
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('font-size', 12);
  if (!p.rows.length) return;
  const box = {left: 64, right: width - 16, top: 12, bottom: height - 40};
  const times = [...p.rows.flatMap(row => [row.us, row.least_us]), ...p.measured.map(m => m.median_us)].filter(us => us > 0);
  const ns = [...p.rows.map(row => row.bytes), ...p.measured.map(m => m.bytes)];
  const low = Math.floor(Math.log10(Math.min(...times))), high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...times))));
  const first = Math.log2(Math.min(...ns)), last = Math.max(first + 1, Math.log2(Math.max(...ns)));
  const x = n => box.left + (box.right - box.left) * (Math.log2(n) - first) / (last - first);
  const y = us => box.bottom - (box.bottom - box.top) * (Math.log10(Math.max(us, 10 ** low)) - low) / (high - low);
  make('path', {d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`, class: 'axis'}, svg);
  for (let e = low; e <= high; ++e) make('text', {x: box.left - 6, y: y(10 ** e) + 4, 'text-anchor': 'end'}, svg, time(10 ** e));
  let free = -Infinity;
  for (const row of p.rows) {  // labels that do not touch
    if (x(row.bytes) < free) continue;
    make('text', {x: x(row.bytes), y: box.bottom + 18, 'text-anchor': row === p.rows[0] ? 'start' : 'middle'}, svg, bytes(row.bytes));
    free = x(row.bytes) + 64;
  }
  const line = key => p.rows.filter(row => row[key] > 0).map((row, i) => `${i ? 'L' : 'M'}${x(row.bytes)} ${y(row[key])}`).join('');
  make('path', {d: line('least_us'), class: 'least', 'stroke-dasharray': '6 4'}, svg);
  make('path', {d: line('us'), class: 'time'}, svg);
  if (sizes[size] !== undefined) make('path', {d: `M${x(sizes[size])} ${box.top}V${box.bottom}`, class: 'picked'}, svg);
  for (const m of p.measured) {
    const dot = make('circle', {cx: x(m.bytes), cy: y(m.median_us), r: 4, class: m.point < 0 ? 'own' : 'dot'}, svg);
    make('title', {}, dot, `${m.point < 0 ? `the ${m.over} library's own` : `point ${m.point}`}, ${bytes(m.bytes)}: ${time(m.median_us)}, ` +
         `from ${time(m.least_us)} to ${time(m.most_us)} in ${counted(m.times, 'time')}`);
  }
}

function choose(i, s) {
  place = Math.max(0, Math.min(places.length - 1, i));
  size = Math.max(0, Math.min(sizes.length - 1, s));
  show();
}

function show() {
  show_grid();
  const p = places[place];
  if (!p) return;
  $('chosen').textContent = `${name_of(p)} on ${p.machine}, ${group_of(p)}`;
  $('where').textContent = `${counted(p.ranks, 'rank')}; ${counted(p.points.length, 'point')}; ` + (p.complete ? 'proven: in steps and rounds nothing is better in what was searched' : `not all was searched: ${p.stopped}`);
  $('times').replaceChildren(...p.rows.map(row => {
    const line = element('tr', undefined, row.bytes === sizes[size] ? 'chosen' : ''), same = of_points(p, row.bytes).find(m => m.point === row.point);
    line.append(element('td', bytes(row.bytes), 'n'), element('td', row.point, 'n'), element('td', p.points[row.point].origin), element('td', time(row.us), 'n'),
                element('td', rate_of(row.algbw), 'n'), element('td', rate_of(row.busbw), 'n'),
                element('td', time(row.least_us), 'n'), element('td', same ? time(same.median_us) : '', 'n'),
                element('td', time((least(own(p, row.bytes)) || {}).median_us), 'n'));
    line.onclick = () => choose(place, sizes.indexOf(row.bytes));
    return line;
  }));
  const words = p.rows.flatMap(row => disagreement(p, row).map(word => `${bytes(row.bytes)}: ${word}`));
  $('disagree').replaceChildren(...(words.length ? words : [p.measured.length ? 'nowhere by more than a factor of two, and by no other choice' : 'nothing was measured']).map(word => element('li', word)));
  draw(p);
}

$('title').textContent = data.library;
const measured = places.reduce((sum, p) => sum + p.measured.length, 0);
$('summary').textContent = `${counted(data.answers, 'answer')} in ${counted(data.all_places, 'entry', 'entries')}${places.length < data.all_places ? `, of which the first ${places.length} are shown` : ''}; ${counted(places.filter(p => p.complete).length, 'entry', 'entries')} proven; ` +
  (measured ? `${counted(measured, 'time')} measured` : 'nothing measured');
$('legend').textContent = measured ? 'Underlined: measurement and prediction disagree.' : '';
addEventListener('resize', () => places[place] && draw(places[place]));
listen([[['ArrowUp'], 'the previous entry', () => choose(place - 1, size)],
        [['ArrowDown'], 'the next entry', () => choose(place + 1, size)],
        [['ArrowLeft'], 'the next smaller size', () => choose(place, size - 1)],
        [['ArrowRight'], 'the next larger size', () => choose(place, size + 1)],
        [['Home'], 'the first entry', () => choose(0, size)],
        [['End'], 'the last entry', () => choose(places.length - 1, size)]]);
show();
