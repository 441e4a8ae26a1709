"""What a job calls, by its traces, and what it would gain on a machine: by the algorithms of a library, or by
those that a short search finds, beside the baselines.

Each group of the job is matched with a level of the machine. Rows of one collective on one level are one
question, so a search is made once for all of their sizes. Times are predicted, by the links' alpha and beta.
Gains are sums over calls, as if none overlapped another or computation: an upper bound on what is saved.
"""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from chorale import traces
from chorale.command import Outcome, Report, ask, counted, format_bytes, format_us, publish, report, table
from chorale.errors import InputError

Row = Dict[str, Any]


def perform(question: Dict[str, Any]) -> Outcome:
    """`chorale job`: "traces", and "machine", "library", "baselines", "search_ms", "spec", "json", which may
    be ""."""
    job = traces.job_of(question["traces"])
    machine = question["machine"]
    if not machine:
        return _written(question, job, _report(job), None)
    publish(_written(question, job, _report(job, "nothing was compared: the command was ended"), None))
    with tempfile.TemporaryDirectory() as folder:
        gain = _Gain(job, question, pathlib.Path(folder))
        for _ in gain.timed():
            publish(_written(question, job, _report(job, gain.sentence(), gain.table()), gain))
    return _written(question, job, _report(job, gain.sentence(), gain.table()), gain)


def job(question: Dict[str, Any]) -> Dict[str, Any]:
    """The same, as `chorale job --json` writes it."""
    found = perform({**question, "spec": "", "json": "-"})
    return json.loads(found.files[0][1])


def _each_us(calls: Row) -> str:
    """The mean of the rank that measured the least: what others measure includes waiting for it."""
    return format_us(calls["us"] / calls["calls"]) if calls["us"] > 0 else "-"


def _report(job: Dict[str, Any], *parts: Any) -> Report:
    """The calls, and where ranks differ, and `parts`: sentences and further tables."""
    rows = [["collective", "group", "ranks", "message", "calls", "time of one", "of all"]]
    for calls in job["calls"]:
        rows.append([
            calls["collective"], calls["group"],
            str(calls["ranks"] or "-"),
            format_bytes(calls["message_bytes"]),
            str(calls["calls"]),
            _each_us(calls),
            format_us(calls["us"]) if calls["us"] > 0 else "-"
        ])
    differ = [each["mismatch"] for each in job["mismatches"]]
    return report("calls", differ + [each for each in parts if isinstance(each, str)],
                  [table(rows, "llrrrrr"), *(each for each in parts if isinstance(each, dict))])


def _written(question: Dict[str, Any], job: Dict[str, Any], found: Report,
             gain: Optional["_Gain"]) -> Outcome:
    outcome = Outcome()
    outcome.report = found
    outcome.notes = [
        f"{counted(each['calls'], 'call')} of {each['operation']} left out: no collective of one size "
        "for all ranks" for each in job["skipped"]
    ]
    if question["spec"] and gain:
        outcome.files.append((question["spec"], gain.spec()))
    elif question["spec"]:
        outcome.errors.append("--spec: not written")
    if question["json"]:
        members = {"chorale_job": 1, **job, **(gain.members() if gain else {})}
        outcome.files.append((question["json"], _text_of(members)))
    return outcome


def _text_of(members: Dict[str, Any]) -> str:
    """A member a line, and a row a line."""

    def plain(value: Any) -> Any:
        return int(value) if isinstance(value, float) and value == int(value) else value

    def text(value: Any) -> str:
        if not isinstance(value, list):
            return json.dumps(plain(value))
        rows = [
            json.dumps({
                name: plain(cell) for name, cell in row.items()
            }, separators=(",", ":")) for row in value
        ]
        return "[\n  " + ",\n  ".join(rows) + "\n]" if rows else "[]"

    return "{\n" + ",\n".join(f'"{name}": {text(value)}' for name, value in members.items()) + "\n}\n"


class _Gain:
    """A row for each of the job, with times of one call; 0: not known. Totals count only rows with both
    times, and what was measured only if all of these were."""

    def __init__(self, job: Dict[str, Any], question: Dict[str, Any], folder: pathlib.Path):
        self.job, self.question, self.folder = job, question, folder
        self.machine: str = question["machine"]
        self.levels = json.loads(ask("topology", "show", self.machine, "--levels"))["levels"]
        self.rows: List[Row] = []
        self.asked: Dict[Tuple[str, str], List[Row]] = {}  # by level and collective
        for calls in job["calls"]:
            level = self._level_of(calls)
            row = {
                "collective": calls["collective"],
                "level": level,
                "message_bytes": calls["message_bytes"],
                "baseline": "",
                "baseline_us": 0,
                "us": 0
            }
            self.rows.append(row)
            if level:
                self.asked.setdefault((level, calls["collective"]), []).append(row)

    def _level_of(self, calls: Row) -> str:
        """By the members if they are known, else by the number of ranks: then the first level with a group of
        that size, "all" before all others. Members that are not a group of the machine have no level: ""."""
        for level in self.levels:
            for group in level["groups"]:
                if calls["members"] in ("", " ".join(map(str, group))) and len(group) == calls["ranks"]:
                    return level["level"]
        return ""

    def _machine_of(self, level: str, ranks: int) -> str:
        if level == "all":
            return self.machine
        found = next(each for each in self.levels if each["level"] == level)
        file = self.folder / f"{level}_{ranks}.json"
        file.write_text(json.dumps(found["machines"][str(ranks)]))
        return str(file)

    def timed(self) -> Iterator[None]:
        """Asks for all; a step for each collective of a level. The baselines are timed in any case; the
        search ends at once where a library has the answers."""
        ranks = {id(row): calls["ranks"] for row, calls in zip(self.rows, self.job["calls"])}
        for (level, name), rows in sorted(self.asked.items()):
            sizes = sorted({row["message_bytes"] for row in rows})
            library = self.question["library"]
            answer = ask("optimize", self._machine_of(level, ranks[id(rows[0])]), name, "--sizes",
                         ",".join(map(str,
                                      sizes)), "--baselines", self.question["baselines"], "--search-time",
                         "200ms" if library else f"{self.question['search_ms']}ms", "--json", "-", "-q")
            found = {row["message_bytes"]: row for row in json.loads(answer)["rows"]} if answer else {}
            ours = self._by_library(level, name, sizes) if library else {}
            for row in rows:
                best = found.get(row["message_bytes"])
                if best:
                    row.update(baseline=best["baseline"],
                               baseline_us=best["baseline_us"],
                               us=0 if library else best["us"])
                row["us"] = ours.get(row["message_bytes"], row["us"])
            yield

    def _by_library(self, level: str, name: str, sizes: Sequence[int]) -> Dict[int, float]:
        """Of all answers at the level the fastest point at each size. A missing answer is an error: a total
        without it would not be that of the job."""
        library, folder = self.question["library"], self.folder / "times"
        ask("library", "export", library, self.machine, name, "--group", level, "--as", "times", "--bytes",
            ",".join(map(str, sizes)), "-o", folder, "-q")
        answer, = json.loads((folder / "times.json").read_text())["answers"]
        if None in answer["us"]:
            raise InputError(f"{library}: has no schedule for {name}; build it with other limits")
        return dict(zip(sizes, answer["us"]))

    def _known(self) -> Iterator[Tuple[Row, Row]]:
        return ((row, calls)
                for row, calls in zip(self.rows, self.job["calls"])
                if row["us"] > 0 and row["baseline_us"] > 0)

    def _total(self, name: str) -> float:
        return sum(calls["calls"] * row[name] for row, calls in self._known())

    def table(self) -> Dict[str, Any]:
        """A level "none": the machine has none with these ranks, so nothing was searched."""
        rows = [["collective", "level", "message", "calls", "measured", "baseline", "", "time", "speedup"]]
        for row, calls in zip(self.rows, self.job["calls"]):
            us, baseline = row["us"], row["baseline_us"]
            rows.append([
                row["collective"], row["level"] or "none",
                format_bytes(row["message_bytes"]),
                str(calls["calls"]),
                _each_us(calls), row["baseline"] or "-",
                format_us(baseline) if baseline > 0 else "-",
                format_us(us) if us > 0 else "-", f"{baseline / us:.2f}x" if us > 0 and baseline > 0 else "-"
            ])
        return table(rows, "llrrrlrrr", f"On {self.machine}")

    def sentence(self) -> str:
        """With measured times the gain is the measured share of the job times the share of it that is
        predicted to be saved; without a duration only the latter is known."""
        us, baseline = self._total("us"), self._total("baseline_us")
        if baseline == 0:
            return (f"nothing to compare: no collective of the job has both a level of {self.machine} and a "
                    "baseline")
        times = [calls["us"] for _, calls in self._known()]
        measured, duration = sum(times) if all(times) else 0, self.job["duration_us"]
        saved = 1 - us / baseline
        predicted = (f"{format_us(us)} in place of {format_us(baseline)} on {self.machine}, predicted for "
                     f"{len(times)} of {counted(len(self.rows), 'row')}")
        if duration > measured > 0:
            return (
                f"your job would gain up to {100 * saved * measured / duration:.1f} % by these: its "
                f"collectives took {format_us(measured)} of {format_us(duration)}, and would take "
                f"{100 * saved:.1f} % less ({predicted})")
        return f"the collectives of your job would take {100 * saved:.1f} % less: {predicted}"

    def spec(self) -> str:
        """The specification that `chorale library build` takes, for what the job calls: its levels,
        collectives and sizes."""
        rows = [row for row in self.rows if row["level"]]
        if not rows:
            raise InputError(
                f"{self.machine}: has no level with as many ranks as the groups of the job; name "
                "another machine")
        members = {
            "machines": [self.machine],
            "collectives": sorted({row["collective"] for row in rows}),
            "groups": sorted({row["level"] for row in rows}),
            "bytes": sorted({row["message_bytes"] for row in rows}),
            "max_chunks": 4,
            "seconds": 60
        }
        return "{\n  " + ",\n  ".join(
            f'"{name}": {json.dumps(value)}' for name, value in members.items()) + "\n}\n"

    def members(self) -> Dict[str, Any]:
        return {
            "machine": self.machine,
            "gain": self.sentence(),
            "baseline_us": self._total("baseline_us"),
            "us": self._total("us"),
            "rows": self.rows
        }
