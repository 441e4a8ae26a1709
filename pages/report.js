// The page of a report: sentences, figures, then tables.
$('title').textContent = data.title;
$('summary').replaceWith(...data.sentences.concat(data.notes).map(text => element('p', text)));

function section_of(title, content) {
  const section = element('section'), scroll = element('div', undefined, 'scroll');
  if (title) section.append(element('h2', title));
  scroll.append(content);
  section.append(scroll);
  return section;
}

$('content').append(...data.figures.map(svg => section_of('', figure_element(svg))),
                    ...data.tables.map(table => section_of(table.title, table_element(table))));
listen([]);
