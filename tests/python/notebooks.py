#!/usr/bin/env python3
"""The notebooks of examples/notebooks, cell by cell, as Jupyter runs them: one namespace, the value of the
last line shown as the page or the picture that it has. Jupyter itself would be 29 packages more for this.
A notebook is valid (nbformat 4), is kept without outputs, and none of its cells fails.

Usage: notebooks.py SOURCE_DIRECTORY    (with the package on the path)
"""
import ast
import io
import json
import os
import pathlib
import sys
import tempfile
from contextlib import redirect_stdout

os.environ.setdefault("MPLBACKEND", "Agg")
source = pathlib.Path(sys.argv[1]).resolve()
os.chdir(tempfile.mkdtemp(prefix="chorale_notebooks_"))


def shown(value):
    """What a notebook shows of a value: its page, its table, else its text."""
    page = getattr(value, "_repr_html_", lambda: None)()
    return page if page is not None else repr(value)


def perform(cell, namespace, name):
    """What a cell prints, and what the value of its last line is shown as."""
    tree = ast.parse(cell, filename=name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as said:
        exec(compile(tree, name, "exec"), namespace)
        value = eval(compile(ast.Expression(last.value), name, "eval"), namespace) if last else None
    return said.getvalue() + ("" if value is None else shown(value))


pages = cells = 0
books = sorted((source / "examples/notebooks").glob("*.ipynb"))
assert len(books) == 2, books
for book in books:
    read = json.loads(book.read_text())
    assert (read["nbformat"], read["nbformat_minor"]) == (4, 5) and read["metadata"]["kernelspec"]["name"] == "python3", book
    ids = [cell["id"] for cell in read["cells"]]
    assert len(set(ids)) == len(ids) and read["cells"][0]["cell_type"] == "markdown", book
    namespace = {"__name__": "__main__"}
    for number, cell in enumerate(read["cells"]):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None, f"{book.name}, cell {number}: has outputs; clear them"
        said = perform("".join(cell["source"]), namespace, f"{book.name}, cell {number}")
        cells += 1
        pages += "<iframe" in said
        assert "left out" not in said or "CHORALE_PROGRAM" not in os.environ, said
assert pages >= 4, pages
print(f"{len(books)} notebooks, {cells} cells, {pages} pages")
