// Control of the page of a result: which point, which moment. Of a large schedule the first steps are drawn.
const most_listed = 300;  // links of a step; a browser takes seconds for a table of many thousands
let point = null, number = 0, steps = [], progress = [], starts = [], flights = [], now = 0, playing = false;
const end = () => starts[starts.length - 1];

function cell(row, text, css, name) {
  const td = row.insertCell();
  td.textContent = text;
  if (css) td.className = css;
  if (name) td.dataset.name = name;
  return td;
}

function head(table, names) {
  table.textContent = '';
  const row = table.createTHead().insertRow();
  for (const [name, css] of names) row.appendChild(element('th', name, css));
  return table.createTBody();
}

function step_at(time) {
  let s = 0;
  while (s + 1 < starts.length - 1 && time >= starts[s + 1]) ++s;
  return s;
}

function draw_moment() {
  const s = step_at(now), done = now >= end(), step = steps[s], whole = steps.length === point.steps;
  $('step-title').textContent = point.steps === 0 ? 'No step is needed' : steps.length === 0 ? 'No step is drawn' : done ?
      `After ${whole ? '' : `${steps.length} of `}${counted(point.steps, 'step')}` + (whole ? ': everything is where it should be' : '') :
      `Step ${s + 1} of ${point.steps}: ${counted(step.rounds, 'round')}, ${counted(step.sends.length, 'send')}`;
  $('clock').textContent = `${now.toFixed(1)} of ${counted(end(), 'round')}`;
  $('time').value = now;
  draw_progress(point.wanted_by_rank, progress[done ? steps.length : s]);
  draw_flights(point, done ? [] : flights[s], now);
  if (s !== draw_moment.shown || point !== draw_moment.point) {
    draw_moment.shown = s;
    draw_moment.point = point;
    list_links(step, s);
  }
}

function list_links(step, s) {
  $('links-title').textContent = step ? `Links in step ${s + 1}` : '';
  $('links').textContent = '';
  if (!step) return;
  const body = head($('links'), [['link'], ...(machine.unit_gbs ? [['GB/s', 'n']] : []), ['sends', 'n'], ['capacity', 'n'], ['chunks (+: added to what is there)']]);
  const by = new Map();
  for (const send of step.sends) {
    if (!by.has(send[1])) by.set(send[1], []);
    by.get(send[1]).push(send);
  }
  if (by.size > most_listed) $('links-title').textContent += `: the first ${most_listed} of ${by.size}`;
  for (const [link, sends] of [...by].slice(0, most_listed)) {
    const row = body.insertRow(), l = links[link];
    cell(row, `${l.src} \u2192 ${l.dst}`);
    if (machine.unit_gbs) cell(row, gbs_of(l.bandwidth), 'n');
    cell(row, sends.length, 'n');
    cell(row, l.bandwidth * step.rounds, 'n');
    const which = cell(row, '');
    sends.slice(0, 40).forEach(send => {
      const span = element('span', `${send[2] ? '+' : ''}${send[0]}`, 'chunk');
      span.style.borderColor = colour(point, send[0]);
      which.append(span, ' ');
    });
    if (sends.length > 40) which.append(`and ${sends.length - 40} more`);
  }
}

function list_points() {
  const names = [['point', 'n'], ['steps', 'n'], ['rounds', 'n'], ['chunks', 'n'], ['rounds per chunk', 'n long'], ['construction', 'long'],
                 ['best for messages', 'long'], ['proven by', 'long']];
  const body = head($('points'), names);
  data.points.forEach((p, i) => {
    const row = body.insertRow();
    row.className = 'point' + (p === point ? ' chosen' : '');
    row.tabIndex = 0;
    const values = [i, p.steps, p.rounds, p.chunks, fraction(p.rounds, p.chunks), p.origin,
                    p.frontier ? p.sizes : 'dominated', p.certificate];
    values.forEach((v, k) => cell(row, v, names[k][1] + (k < 7 ? '' : p.proven ? ' yes' : ' no'), names[k][0]));
    row.addEventListener('click', () => choose(i));
    row.addEventListener('keydown', event => { if (event.key === 'Enter') choose(i); });
  });
}

function choose(i) {
  if (!(i >= 0 && i < data.points.length)) return;
  number = i;
  point = data.points[i];
  point.colours = point.colours || spread(point.colour);
  point.wanted_by_rank = spread(point.wanted);
  steps = steps_of(point);
  progress = progress_of(point, steps);
  ({starts, flights} = timetable(steps));
  now = 0;
  say_what_is_drawn();
  $('time').max = end();
  draw_frontier(data.points, data.bound, point, choose);
  list_points();
  draw_moment();
}

// Where the rest is, if not all is drawn.
function say_what_is_drawn() {
  const whole = steps.length === point.steps, sends = steps.reduce((sum, step) => sum + step.sends.length, 0);
  $('drawn').hidden = whole;
  $('drawn').textContent = whole ? '' : `${steps.length ? `Drawn are the first ${steps.length}` : 'Drawn are none'} of ` +
      `${counted(point.steps, 'step')}, with ${sends} of ${counted(point.sends, 'send')}: a page of all would be too large. ` +
      `The result file has them, and 'chorale show RESULT.json --point ${number}' prints them.`;
}

function go(time) {
  now = Math.max(0, Math.min(time, end()));
  draw_moment();
}

let before = null;
function tick(stamp) {
  if (!playing) return;
  if (before !== null) go(now + (stamp - before) / 1000);  // one round a second
  before = stamp;
  if (now >= end()) return set_playing(false);
  requestAnimationFrame(tick);
}
function set_playing(value) {
  playing = value;
  before = null;
  $('play').textContent = playing ? 'pause' : 'play';
  if (!playing) return;
  if (now >= end()) now = 0;
  requestAnimationFrame(tick);
}
function jump(time) {
  set_playing(false);
  go(time);
}
const next_step = () => jump(now >= end() ? end() : starts[step_at(now) + 1]);
function last_step() {
  const s = step_at(now);
  jump(now > starts[s] ? starts[s] : starts[Math.max(0, s - 1)]);
}

// "Lines, thin to wide: 50, 450 GB/s per direction. "
function rates_in_words() {
  const rates = [...new Set(cables.map(w => w.bandwidth))].sort((a, b) => a - b).map(units => gbs_of(units));
  if (!machine.unit_gbs || rates.length === 0) return '';
  if (rates.length === 1) return `Each line: ${rates[0]} GB/s per direction. `;
  return `Lines, thin to wide: ${rates.length > 4 ? `${rates[0]} to ${rates.at(-1)}` : rates.join(', ')} GB/s per direction. `;
}

function say_what_it_is() {
  $('title').textContent = data.collective ? `${data.collective} on ${machine.name}` : machine.name;
  const limits = machine.limits ? `, ${counted(machine.limits, 'shared limit')}` : '';
  $('summary').textContent = `${counted(machine.ranks, 'rank')}, ${counted(machine.link_count, 'link')}${limits}` +
      `${picture.shape ? `: ${picture.shape}` : ''}. ${data.summary}`;
  const has = kind => nodes.some(node => node.kind === kind);
  $('legend').textContent = (data.points.length ? 'Green around a rank: the part of its output that has arrived. A dot is a chunk, ' +
      'coloured by where it comes from (of a sum: where it goes to); a rim: it is added to what is there. ' : '') +
      (has('switch') ? 'Grey: switches. ' : '') + (has('nic') ? 'Small squares: NICs, or switches in front of them. ' : '') +
      rates_in_words() + (cables.some(w => w.wraps) ? 'Links with an open end wrap around. ' : '') +
      (machine.link_count > 0 && links.length === 0 ? 'Its links are too many to be drawn. ' : '') +
      (nodes.length === 0 ? 'Its ranks are too many to be drawn.' : '');
}

// The figure of sizes is an SVG by itself. As a file it has its own colours, those of a light page.
function save(name, address) {
  const link = element('a', '');
  link.setAttribute('href', address);
  link.download = name;
  link.click();
}
const report = data.report || {sentences: [], notes: [], tables: [], figures: []};
function show_answer() {
  $('answer').hidden = report.tables.length === 0;
  if ($('answer').hidden) return;
  $('answer-tables').append(...report.tables.map(table_element));
  $('answer-sentences').append(...report.sentences.concat(report.notes).map(text => element('p', text)));
}
function show_figure() {
  if (report.figures.length === 0) return;
  $('sizes').hidden = false;
  $('size-figure').append(figure_element(report.figures[0]));
  const name = `${data.collective}-${machine.name}`.replace(/[^\w.-]+/g, '_');
  const file = () => URL.createObjectURL(new Blob([report.figures[0]], {type: 'image/svg+xml'}));
  $('save-svg').addEventListener('click', () => save(`${name}.svg`, file()));
  $('save-png').addEventListener('click', () => {
    const image = new Image(), canvas = document.createElement('canvas');
    image.onload = () => {
      canvas.width = 2 * image.width;
      canvas.height = 2 * image.height;
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      save(`${name}.png`, canvas.toDataURL('image/png'));
    };
    image.setAttribute('src', file());
  });
}

say_what_it_is();
show_answer();
show_figure();
draw_machine();
if (data.points.length === 0) {  // nothing to play, plot or list
  $('step-title').textContent = data.collective ? 'No schedule was found' : 'The machine';
  $('side').remove();
  $('list').remove();
  $('controls').remove();
  document.querySelector('main').style.gridTemplateColumns = 'minmax(0, 1fr)';
  listen([]);
} else {
  const hollow = data.points.some(p => !p.proven), filled = data.points.some(p => p.proven);
  addEventListener('resize', () => draw_frontier(data.points, data.bound, point, choose));
  for (const [there, css, words] of [[filled, 'key', 'proven '], [hollow, 'key hollow', 'not proven ']])
    if (there) $('frontier-legend').append(element('span', '', css), words);
  if (data.points.some(p => p.least)) $('frontier-legend').append('(dashed: as low as is not excluded) ');
  if (data.points.some(p => !p.frontier)) $('frontier-legend').append('(small: dominated)');
  if (data.points.length < data.point_count)
    $('points-title').textContent += `: the first ${data.points.length} of ${data.point_count}; the result file has all`;
  $('play').addEventListener('click', () => set_playing(!playing));
  $('time').addEventListener('input', () => jump(Number($('time').value)));
  $('on').addEventListener('click', next_step);
  $('back').addEventListener('click', last_step);
  listen([[['ArrowLeft'], 'to the step before', last_step], [['ArrowRight'], 'to the next step', next_step],
          [[' '], 'play, pause', () => set_playing(!playing)],
          [['Home'], 'to the start', () => jump(0)], [['End'], 'to the end', () => jump(end())],
          [['ArrowUp'], 'the point before', () => choose(number - 1)], [['ArrowDown'], 'the next point', () => choose(number + 1)],
          [['0 .. 9'], 'the point of that number', key => choose(Number(key))]]);
  // A link to a place: #point=2&time=3.5
  const wanted = new URLSearchParams(location.hash.slice(1));
  const first = Math.max(0, data.points.findIndex(p => p.frontier));
  choose(first);
  if (wanted.has('point')) choose(Math.round(Number(wanted.get('point'))));
  if (wanted.has('time')) go(Number(wanted.get('time')) || 0);
}
