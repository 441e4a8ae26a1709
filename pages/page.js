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
