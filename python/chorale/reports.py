"""Reports as notebooks show them."""

from __future__ import annotations

import html
from typing import Any, Dict, List


def report_html(report: Dict[str, Any]) -> str:
    """A report as what calls answer with has it: figures, sentences, and tables."""

    def table(rows: List[List[str]]) -> str:
        def row(cells: List[str], tag: str) -> str:
            return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"

        return f"<table>{''.join(row(cells, 'td' if i else 'th') for i, cells in enumerate(rows))}</table>"

    return "".join(report["figures"] + [f"<p>{html.escape(text)}</p>" for text in report["sentences"]] +
                   [table(each["rows"]) for each in report["tables"]])
