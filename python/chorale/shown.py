"""Results and rankings as notebooks, tables and drawings have them: methods of Result and Ranking."""

from __future__ import annotations

import html
import json
from typing import Any, Dict, List, Optional

from chorale import _chorale, calls
from chorale._chorale import Ranking, Result
from chorale.errors import InputError, needed


def _frame(page: str) -> str:
    # A document of its own: its styles and its script touch nothing of the notebook, and nothing is loaded.
    return (f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" style="width: 100%; height: 720px; border: 0" '
            'title="chorale"></iframe>')


def _repr_html_(self: Any) -> str:
    """The page of `chorale show --html`, or of `chorale place --html`, inside a notebook."""
    return _frame(self.to_page())


def best(self: Result, bytes: int) -> _chorale.SizeRow:
    """What should be fastest for blocks of that size, each link by its own numbers, and what no schedule is
    faster than."""
    return self.by_size([bytes])[0]


def by_size(self: Result, bytes: List[int]) -> List[_chorale.SizeRow]:
    """The same for many sizes."""
    if any(not 0 <= each < 2**63 for each in bytes):
        raise InputError("bytes: are negative, or too many; use 0 to 2^63 - 1")
    sizes = [int(each) for each in bytes]
    rows = _chorale.best_by_size(self, sizes)
    if len(rows) < len(sizes):
        raise InputError("bytes: the result has no points; search again with more limits")
    return rows


def to_dataframe(self: Result) -> Any:
    """A table of pandas, a row a point."""
    pandas = needed("pandas", "to_dataframe()")
    rows = [{"steps": point.steps, "rounds": point.rounds, "chunks": point.chunks, "rounds_per_chunk": float(point.rate), "gap": point.gap,
             "method": point.method, "construction": point.construction, "on_frontier": point.on_frontier, "proven": point.proven, "proven_by": proof, "best_for": sizes,
             "seconds": point.seconds} for point, proof, sizes in zip(self.points, self.proofs, self.best_sizes)]
    return pandas.DataFrame(rows, columns=["steps", "rounds", "chunks", "rounds_per_chunk", "gap", "method", "construction", "on_frontier", "proven",
                                           "proven_by", "best_for", "seconds"])


def plot(self: Result, bytes: Optional[List[int]] = None, ax: Any = None) -> Any:
    """A drawing of matplotlib: the points by steps and rounds per chunk; with sizes in bytes the least time
    of each, and what no schedule is faster than. The axes that were drawn on."""
    ax = ax if ax is not None else needed("matplotlib.pyplot", "plot()").subplots()[1]
    ax.set_title(f"{self.topology.name}, {self.collective.name}")
    if bytes is not None:
        rows = self.by_size(list(bytes))
        ax.plot([row.block_bytes for row in rows], [row.us for row in rows], marker="o", label="fastest")
        ax.plot([row.block_bytes for row in rows], [row.least_us for row in rows], linestyle="--", label="none is faster")
        ax.set(xscale="log", yscale="log", xlabel="bytes of a block", ylabel="microseconds")
    else:
        for wanted, label, marker in ((True, "proven", "o"), (False, "not proven", "x")):
            points = [point for point in self.points if point.on_frontier and point.proven == wanted]
            if points:
                ax.plot([point.steps for point in points], [float(point.rate) for point in points], marker, label=label)
        if self.rate_bound is not None:
            ax.axhline(float(self.rate_bound), linestyle="--", label="none has fewer")
        ax.set(xlabel="steps", ylabel="rounds per chunk")
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend()
    return ax


def best_placements(self: Ranking) -> List[Dict[str, Any]]:
    """The placements, best first, as `chorale place --json` has them."""
    return json.loads(self.to_json())["best"]


def files(self: Ranking) -> calls.Compiled:
    """The best placement as files: an MPI program, groups, meshes for JAX and PyTorch, Megatron's order, a
    rank file."""
    return calls.Compiled("", _chorale.emit_placement(self))


for _method in (_repr_html_, best, by_size, to_dataframe, plot):
    setattr(Result, _method.__name__, _method)
for _name in ("run", "measure", "compile", "simulate", "check"):
    setattr(Result, _name, getattr(calls, _name))
setattr(Ranking, "_repr_html_", _repr_html_)
setattr(Ranking, "best", property(best_placements))
setattr(Ranking, "files", files)
