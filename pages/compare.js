// The page of a comparison: figures first, then tables.
$('title').textContent = data.title;
$('summary').replaceWith(...data.sentences.map(text => element('p', text)));

function section_of(title, content) {
  const section = element('section'), scroll = element('div', undefined, 'scroll');
  if (title) section.append(element('h2', title));
  scroll.append(content);
  section.append(scroll);
  return section;
}

function figure_of(svg) {
  const figure = element('div');
  figure.innerHTML = svg;  // of our own making: names in it are escaped
  return section_of('', figure);
}

function table_of({title, rows, kinds}) {
  const table = element('table'), head = table.createTHead(), body = table.createTBody();
  rows.forEach((cells, i) => {
    const row = (i === 0 ? head : body).insertRow();
    cells.forEach((text, column) => row.append(element(i === 0 ? 'th' : 'td', text, kinds[column] === 'r' ? 'n' : '')));
  });
  return section_of(title, table);
}

$('content').append(...data.figures.map(figure_of), ...data.tables.map(table_of));
listen([]);
