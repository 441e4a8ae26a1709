"""What calls answer with: a named tuple each, which a notebook shows as a drawing or a table."""

from __future__ import annotations

import html
import json
import pathlib
from typing import Any, Dict, List, NamedTuple, Optional, Union

from chorale._chorale import Result, Topology
from chorale.errors import needed
from chorale.given import File
from chorale.reports import report_html


class Document(Dict[str, Any]):
    """What a command writes as JSON; a notebook shows the command's report."""

    def __init__(self, members: Dict[str, Any], report: str) -> None:
        super().__init__(members)
        self.report: Dict[str, Any] = json.loads(report)

    def _repr_html_(self) -> str:
        return report_html(self.report)


class Imported(NamedTuple):
    """A machine from files of others, with what was read, assumed and fitted: in words, and for programs."""

    machine: Topology
    report: str
    json: Dict[str, Any]

    def __repr__(self) -> str:
        return f"<Imported: {self.machine!r}; print(.report) lists what was read and assumed>"

    def _repr_html_(self) -> str:
        """The machine drawn, and the report."""
        return f"{self.machine._repr_html_()}<pre>{html.escape(self.report)}</pre>"


class Optimized(NamedTuple):
    """The fastest algorithm of each message size, its distance from the bound and its speedup over baselines:
    the result with all algorithms, a row per size (docs/formats.md), microseconds of each baseline by its
    name, the answer in a sentence, the report that a notebook shows (sentences, tables, a figure), what binds
    (None: not known), whether no schedule is faster at any of the sizes (by steps, unless times by events were
    asked for), and how the search ended, in words. `result.complete` is about steps and rounds alone."""

    result: Result
    rows: List[Dict[str, Any]]
    baselines: Dict[str, List[float]]
    conclusion: str
    report: Dict[str, Any]
    binding: Optional[Dict[str, Any]] = None
    complete: bool = False
    search: str = ""

    def __repr__(self) -> str:
        return (f"<Optimized: {self.result.topology.name}, {self.result.collective.name}, {len(self.rows)} "
                f"sizes; {self.conclusion}>")

    @property
    def svg(self) -> str:
        """Time and bus bandwidth over message size; "" where there is no schedule."""
        return "".join(self.report["figures"])

    def _repr_html_(self) -> str:
        return report_html(self.report)

    def plot(self, axes: Any = None) -> List[Any]:
        """Time and bus bandwidth over message size, by matplotlib: the axes of both."""
        from chorale import plots

        known = [row for row in self.rows if row["message_bytes"] > 0]
        factor = max((row["busbw_gbs"] / row["algbw_gbs"] for row in known if row["algbw_gbs"] > 0),
                     default=1.0)
        curves = {"Chorale": [row["us"] for row in self.rows]}
        if all(len(times) == len(self.rows) for times in self.baselines.values()):
            curves.update({f"{name} (baseline)": times for name, times in self.baselines.items()})
        if any(row["measured_us"] > 0 for row in self.rows):
            curves["measured"] = [row["measured_us"] for row in self.rows]
        curves["bound"] = [row["bound_us"] for row in self.rows]
        return plots.over_sizes(axes, f"{self.result.topology.name}, {self.result.collective.name}",
                                [row["message_bytes"] for row in self.rows], factor, curves)

    def to_dataframe(self) -> Any:
        """A table of pandas, a row per message size."""
        return needed("pandas", "to_dataframe()").DataFrame(self.rows)


class VerifiedProgram(NamedTuple):
    """A lowered program: what it is, and for each mode that it is for, "in place" or "out of place", what is
    wrong with it ("" if nothing is) and the messages that its queues need."""

    name: str
    collective: str
    ranks: int
    instructions: Dict[str, int]
    faults: Dict[str, str]
    depths: Dict[str, int]


class Synthesis(NamedTuple):
    """The answer to one question: "sat", "unsat" (no schedule within the budget) or "unknown"."""

    verdict: str
    result: Result
    conflicts: int

    def __repr__(self) -> str:
        return f"<Synthesis: {self.verdict}, {self.conflicts} conflicts; {self.result!r}>"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


class Compiled(NamedTuple):
    """Files by relative path, and the path of the one, or of the folder with all of them. Texts; bytes of
    formats that are none."""

    path: str
    files: Dict[str, Union[str, bytes]]

    def __repr__(self) -> str:
        return f"<Compiled: {', '.join(self.files)}>"

    def write(self, directory: File) -> List[pathlib.Path]:
        """Writes them below the directory; their paths."""
        written = []
        for name, text in self.files.items():
            path = pathlib.Path(directory) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, bytes):
                path.write_bytes(text)
            else:
                path.write_text(text)
            written.append(path)
        return written


class Compared(NamedTuple):
    """Two machines or two results side by side (docs/formats.md): what each is, the bounds of each collective
    on machines, a row per message size and collective, the answer in sentences, what else differs, and the
    report that a notebook shows: sentences, tables, and a figure per collective."""

    sides: List[Dict[str, Any]]
    limits: List[List[Dict[str, Any]]]
    sizes: List[Dict[str, Any]]
    conclusions: List[str]
    notes: List[str]
    report: Dict[str, Any]

    @property
    def svg(self) -> str:
        """The figure of the first collective that has one; "" where none can be drawn."""
        return "".join(self.report["figures"][:1])

    def _repr_html_(self) -> str:
        return report_html(self.report)

    def to_dataframe(self) -> Any:
        """A table of pandas: a row per collective and message size, or, without sizes, per collective with
        its bounds."""
        rows = [{
            "collective": each["collective"],
            "message_bytes": row["message_bytes"],
            "speedup": row["speedup"],
            **{
                f"{key}_{n + 1}": side[key]
                for n, side in enumerate(row["sides"])
                for key in ("us", "busbw_gbs", "bound_us", "algorithm")
            }
        } for each in self.sizes for row in each["rows"]]
        if not rows:
            rows = [{
                "collective": a["collective"],
                **{
                    f"{key}_{n + 1}": each[key]
                    for n, each in enumerate((a, b))
                    for key in ("latency_us", "busbw_gbs")
                }
            } for a, b in zip(*self.limits)]
        return needed("pandas", "to_dataframe()").DataFrame(rows)
