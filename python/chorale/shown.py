"""Results and rankings as notebooks, tables and drawings have them: methods of Result and Ranking."""

from __future__ import annotations

import html
import json
import numbers
from typing import Any, Dict, List, Optional, Union

from chorale import _chorale, calls, plots
from chorale._chorale import Bounds, Ranking, Result, Topology
from chorale.errors import InputError, needed
from chorale.given import Sizes, sizes_of
from chorale.reports import report_html


def _frame(page: str) -> str:
    # A document of its own: its styles and its script touch nothing of the notebook, and nothing is loaded.
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" style="width: 100%; height: 720px; '
        f'border: 0" '
        'title="chorale"></iframe>')


# By noun: names and annotations of its rows (ir/fields.h); and of nouns without rows.
_FIELDS: Dict[str, Dict[str, str]] = getattr(_chorale, "_fields")
_FURTHER_FIELDS = {
    "CheckReport": ("ok", "schedules", "bounds", "refutations", "undecided"),
    "Hierarchy": ("name", "devices"),
    "Ranking": ("matrices", "priced", "seconds"),
    "Send": ("chunk", "link", "reduce"),
    "SolverReport": ("strategies", "calls", "complete"),
    "Step": ("rounds",)
}
_LONGEST_TEXT = 40


def noun_repr(self: Any) -> str:
    """Fields that are numbers, names or texts: 'Point(steps=2, rounds=3, ...)'. Of a machine or a
    collective its name; lists are left out, since making one may take long."""
    noun = type(self).__name__
    known = _FIELDS.get(noun, {})
    shown = []
    for name in known or _FURTHER_FIELDS[noun]:
        if "List[" in known.get(name, ""):
            continue
        value = getattr(self, name)
        value = getattr(value, "name", value)
        if value is None or isinstance(value, (numbers.Number, str)):
            text = f"{value:.3g}" if isinstance(value, float) else str(value)
            shown.append(f"{name}={text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + '...'}")
    return f"{noun}({', '.join(shown)})"


def _repr_html_(self: Any) -> str:
    """The page of `chorale show --html`, of `chorale place --html` or of `chorale topology show --html`,
    inside a notebook."""
    return _frame(self.to_page())


def best(self: Result, bytes: Union[int, str]) -> _chorale.SizeRow:
    """What should be fastest for messages of that size, each link by its own numbers, and what no schedule is
    faster than. A message is the largest buffer of a rank, as nccl-tests counts it."""
    return self.by_size([bytes])[0]


def by_size(self: Result, bytes: Sizes) -> List[_chorale.SizeRow]:
    """The same for many sizes."""
    sizes = sizes_of("bytes", bytes)
    rows = _chorale.best_by_size(self, sizes)
    if len(rows) < len(sizes):
        raise InputError("bytes: the result has no points; search again with more limits")
    return rows


def to_dataframe(self: Result) -> Any:
    """A table of pandas, a row a point."""
    pandas = needed("pandas", "to_dataframe()")
    rows = [{
        "steps": point.steps,
        "rounds": point.rounds,
        "chunks": point.chunks,
        "rounds_per_chunk": float(point.rate),
        "gap": point.gap,
        "method": point.method,
        "construction": point.construction,
        "on_frontier": point.on_frontier,
        "proven": point.proven,
        "proven_by": proof,
        "best_for": sizes,
        "seconds": point.seconds
    } for point, proof, sizes in zip(self.points, self.proofs, self.best_sizes)]
    return pandas.DataFrame(rows,
                            columns=[
                                "steps", "rounds", "chunks", "rounds_per_chunk", "gap", "method",
                                "construction", "on_frontier", "proven", "proven_by", "best_for", "seconds"
                            ])


def plot(self: Result, bytes: Optional[List[int]] = None, ax: Any = None) -> Any:
    """A drawing of matplotlib: the points by steps and rounds per chunk; with message sizes in bytes the
    figure of the page, the least time and its bus bandwidth over message size, beside what no schedule is
    faster than. The axes that were drawn on: one, or of sizes two."""
    return plots.frontier(self, ax) if bytes is None else plots.result_over_sizes(self, bytes, ax)


def best_placements(self: Ranking) -> List[Dict[str, Any]]:
    """The placements, best first, as `chorale place --json` has them."""
    return json.loads(self.to_json())["best"]


def placements_to_dataframe(self: Ranking) -> Any:
    """A table of pandas, a row per placement, best first: its matrix, its times, and by reduction the
    strategy."""
    pandas = needed("pandas", "to_dataframe()")
    rows = [{
        "matrix": str(row["matrix"]),
        "us": row["us"],
        "allreduce_us": row["allreduce_us"],
        "speedup": row["allreduce_us"] / row["us"] if row["us"] > 0 else 1.0,
        "slowdown": row["us"] / self.best[0]["us"] if self.best[0]["us"] > 0 else 1.0
    } for row in self.best]
    return pandas.DataFrame(rows, columns=["matrix", "us", "allreduce_us", "speedup", "slowdown"])


def plot_placements(self: Ranking, most: int = 20, ax: Any = None) -> Any:
    """A drawing of matplotlib: times of the best placements, with their best strategies and with single
    AllReduces."""
    return plots.placements(self, most, ax)


def report(self: Union[Bounds, Ranking, Result]) -> Dict[str, Any]:
    """What 'chorale bounds', 'chorale place' or 'chorale frontier' prints: sentences, and tables as rows of
    texts."""
    return json.loads(getattr(self, "_report"))


def bounds_html(self: Bounds) -> str:
    """The report, as tables."""
    return report_html(self.report)


def files(self: Ranking) -> calls.Compiled:
    """The best placement as files: an MPI program, groups, meshes for JAX and PyTorch, Megatron's order, a
    rank file."""
    from chorale.placed import written
    emitted = _chorale.emit_placement(self)
    return calls.Compiled("", {**emitted, **written(emitted["groups.json"])})


for _name in (*_FIELDS, *_FURTHER_FIELDS):
    setattr(getattr(_chorale, _name), "__repr__", noun_repr)
for _method in (_repr_html_, best, by_size, to_dataframe, plot):
    setattr(Result, _method.__name__, _method)
for _name in ("run", "measure", "compile", "simulate", "check"):
    setattr(Result, _name, getattr(calls, _name))
for _noun in (Ranking, Topology):
    setattr(_noun, "_repr_html_", _repr_html_)
for _noun in (Bounds, Ranking, Result):
    setattr(_noun, "report", property(report))
setattr(Bounds, "_repr_html_", bounds_html)
setattr(Ranking, "to_dataframe", placements_to_dataframe)
setattr(Ranking, "plot", plot_placements)
setattr(Ranking, "best", property(best_placements))
setattr(Ranking, "files", files)
