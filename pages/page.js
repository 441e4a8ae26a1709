'use strict';
// What both pages share.
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);

function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

// An element of a drawing.
function make(tag, attributes, parent, text) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);  // a name, not an address: nothing is loaded
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.append(e);
  return e;
}

// Columns of numbers as pages/html.cpp has them: [7, [0, 255], 3] is a 7, 255 zeros, a 3; and the sums of such differences.
const spread = column => column.flatMap(v => Array.isArray(v) ? new Array(v[1]).fill(v[0]) : [v]);
function sums(column) {
  let sum = 0;
  return spread(column).map(v => sum += v);
}

// A figure over message size (pages/figures.cpp). Where the page is too narrow for two panels side by side, they
// stand below each other, and so do the keys of the legend.
function figure_element(text) {
  const holder = element('div', undefined, 'figure');
  holder.innerHTML = text;  // of our own making: names in it are escaped
  const svg = holder.firstElementChild, second = svg.querySelector('.second'), keys = [...svg.querySelectorAll('.key')];
  const wide = {box: svg.getAttribute('viewBox'), keys: keys.map(key => key.getAttribute('transform'))};
  const [, , width, height] = wide.box.split(' ').map(Number), panel = width / 2, below = 330;
  const lay_out = () => {
    const narrow = holder.clientWidth > 0 && holder.clientWidth < 640, high = 2 * below + 40 + 20 * keys.length;
    svg.setAttribute('viewBox', narrow ? `0 0 ${panel} ${high}` : wide.box);
    svg.setAttribute('width', narrow ? panel : width);
    svg.setAttribute('height', narrow ? high : height);
    second.setAttribute('transform', narrow ? `translate(${72 - 524} ${below})` : '');
    keys.forEach((key, i) => key.setAttribute('transform', narrow ? `translate(72 ${2 * below + 40 + 20 * i})` : wide.keys[i]));
  };
  new ResizeObserver(lay_out).observe(holder);
  return holder;
}

// kinds: by column, r for numbers. A row becomes a card on a narrow page (page.css).
function table_element({rows, kinds}) {
  const table = element('table', undefined, 'cards'), head = table.createTHead(), body = table.createTBody();
  rows.forEach((cells, i) => {
    const row = (i === 0 ? head : body).insertRow();
    cells.forEach((text, column) => {
      const cell = element(i === 0 ? 'th' : 'td', text, kinds[column] === 'r' ? 'n' : '');
      cell.dataset.name = rows[0][column];
      if (text.length > 20) cell.classList.add('long');
      row.append(cell);
    });
  });
  return table;
}

// Times in microseconds and sizes, as the command line has them.
function in_unit(value, digits, units) {
  const [unit, size] = units.find(([, size]) => value >= size) || units.at(-1);
  return `${Number((value / size).toPrecision(digits))} ${unit}`;
}
const time = us => us === undefined ? '' : us === 0 ? '0' : in_unit(us, 3, [['s', 1e6], ['ms', 1e3], ['us', 1]]);
const bytes = n => in_unit(n, 4, [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10], ['B', 1]]);

// Rounds per chunk as a fraction.
const divisor = (a, b) => b === 0 ? a : divisor(b, a % b);
function reduced(rounds, chunks) {
  const d = divisor(rounds, chunks) || 1;
  return chunks === d ? String(rounds / d) : `${rounds / d}/${chunks / d}`;
}

const counted = (n, word, several) => `${n} ${n === 1 ? word : several || word + (/(s|ch)$/.test(word) ? 'es' : 's')}`;

// The button goes from the system's theme to the other one, and back.
function toggle_theme() {
  const root = document.documentElement;
  if (root.dataset.theme) delete root.dataset.theme;
  else root.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'light' : 'dark';
}

// keys: [names of the keys, as events and people call them, what they do, the function]. One list for the help and
// for what happens.
function listen(keys) {
  keys.push([['t'], 'light or dark', toggle_theme],
            [['?'], 'these keys', () => $('help').open ? $('help').close() : $('help').showModal()]);
  const words = {' ': 'space', ArrowLeft: '\u2190', ArrowRight: '\u2192', ArrowUp: '\u2191', ArrowDown: '\u2193'};
  for (const [names, what] of keys) {
    const row = $('keys').insertRow(), cell = row.insertCell();
    for (const name of names) cell.append(element('kbd', words[name] || name), ' ');
    row.insertCell().textContent = what;
  }
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const found = keys.find(([names]) => names.includes(event.key) ||
                                         (/^[0-9]$/.test(event.key) && names.includes('0 .. 9')));
    if (!found || ($('help').open && event.key !== '?')) return;
    if (event.key === ' ' && event.target.tagName === 'BUTTON') return;  // it presses the button
    event.preventDefault();
    found[2](event.key);
  });
  $('theme').addEventListener('click', toggle_theme);
  $('keys-button').addEventListener('click', () => $('help').showModal());
  $('help-close').addEventListener('click', () => $('help').close());
}
