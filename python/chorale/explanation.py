"""What chorale.compiler.explain() gives: what becomes of each collective of a model, as text, JSON, or a
table in a notebook."""

import json

from chorale.reports import report_html

TITLES = ["graph", "collective", "bytes", "in the model", "becomes", "notes", "change"]


class Explanation:
    """`records`: of each collective its graph, place in the model, bytes, whether it is `fused`, with which
    operations, by which schedule in how many predicted microseconds, or for what reason it is not, and the
    change that would help; `breaks`: why graphs end, behind which nothing is fused with what is before."""

    def __init__(self, records, breaks=()):
        self.records, self.breaks = records, list(breaks)

    @property
    def sentences(self):
        fused, count = (sum(each["collectives"] for each in self.records if each["fused"] >= least)
                        for least in (True, False))
        return [f"{fused} of {count} collectives are parts of programs."
                ] + [f"A graph ends: {each}" for each in self.breaks]

    def rows(self):
        """What TITLES names of each collective; notes are of what is left, or may be each rank's own."""
        for each in self.records:
            notes = each["outside"] if each["fused"] else [each]
            yield [
                each["graph"], each["collective"], str(each["bytes"]), each["at"], becomes(each),
                [": ".join(filter(None, (note["at"], note["reason"]))) for note in notes],
                [note["change"] for note in notes]
            ]

    def __str__(self):
        lines = list(self.sentences)
        for graph, collective, size, place, what, notes, changes in self.rows():
            lines.append(f"{graph}: {collective} of {size} bytes, {place}")
            lines.append(f"  becomes {what}")
            for reason, change in zip(notes, changes):
                lines.append(f"  note: {reason}")
                lines += [f"    change: {change}"] if change else []
        return "\n".join(lines)

    def to_json(self):
        return json.dumps({"collectives": self.records, "graph_breaks": self.breaks}, indent=1)

    def _repr_html_(self):
        rows = [[*row[:-2], "; ".join(row[-2]), "; ".join(filter(None, row[-1]))] for row in self.rows()]
        tables = [{"rows": [TITLES, *rows]}]
        return report_html({"figures": [], "sentences": self.sentences, "tables": tables})


def becomes(record):
    """The operations of a program with its time, predicted or, beside PyTorch's, measured."""
    if not record["fused"]:
        return "what PyTorch does"
    time = f"{record['ms']:.2f} ms, PyTorch's {record['pytorch_ms']:.2f} ms" if "ms" in record else \
        f"{record['predicted_us']:.4g} us predicted"
    return f"{' -> '.join(record['operations'])}, {time}"
