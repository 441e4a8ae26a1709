"""What the commands of the program that are written in Python share (cli/python_command.h): a question comes
as JSON, the outcome goes back as JSON, and the program prints it and writes its files. They import nothing
of the extension and ask the program for what it computes.
"""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import re
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Tuple

from chorale.errors import InputError
from chorale.program import program

Report = Dict[str, Any]  # as ir/report.h has it


def table(rows: Sequence[Sequence[str]], kinds: str, title: str = "") -> Dict[str, Any]:
    """A table of a report. Of kinds each column has a letter: r for numbers, l for text; R, L for what is left
    out first where there is no room."""
    return {"title": _line(title), "rows": [[_line(cell) for cell in row] for row in rows], "kinds": kinds}


def report(title: str = "", sentences: Sequence[str] = (), tables: Sequence[Dict[str, Any]] = ()) -> Report:
    """What the program prints, as text and as a page, and a notebook shows."""
    return {
        "title": _line(title),
        "sentences": [_line(each) for each in sentences],
        "notes": [],
        "tables": list(tables),
        "figures": []
    }


class Outcome:
    """What a command prints and writes. `files`: path ("-": standard output) and contents; `notes` and
    `errors`: lines for standard error."""

    def __init__(self) -> None:
        self.report = report()
        self.files: List[Tuple[str, str]] = []
        self.notes: List[str] = []
        self.errors: List[str] = []
        self.exit_code = 0

    def write(self, folder: pathlib.Path) -> None:
        for number, (_, contents) in enumerate(self.files):
            (folder / f"file{number}").write_text(contents, encoding="utf-8", errors="surrogateescape")
        _write(
            folder, {
                "exit_code": self.exit_code,
                "report": self.report,
                "notes": [_line(note) for note in self.notes],
                "errors": [_line(error) for error in self.errors],
                "files": [[path, f"file{number}"] for number, (path, _) in enumerate(self.files)]
            })


def _line(text: str) -> str:
    """Without what is not text and without control characters, which stand as escapes."""
    return re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}",
                  os.fsencode(text).decode("utf-8", "backslashreplace"))


def _write(folder: pathlib.Path, outcome: Dict[str, Any]) -> None:
    """Whole, or not at all: the program reads it after it has ended this process, too."""
    (folder / "part").write_text(json.dumps(outcome))
    os.replace(folder / "part", folder / "outcome")


_folder: Optional[pathlib.Path] = None  # of a command's question and outcome


def publish(outcome: Outcome) -> None:
    """The outcome so far: what is reported if a limit ends the command."""
    if _folder is not None:
        outcome.write(_folder)


def ask(*words: Any, notes: Optional[List[str]] = None) -> str:
    """What the program prints for such a command line; to `notes` its notes are added. Throws InputError with
    its words where it refuses it."""
    found = program()
    if found is None:
        raise InputError("chorale: the program is not there; build it, or set CHORALE to its path")
    done = subprocess.run([found, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 3, 20):  # done; not all of it; proven impossible
        raise InputError(done.stderr.strip().removeprefix("chorale: error: ") or f"{found}: failed")
    if notes is not None:
        notes += re.findall("^chorale: note: (.*)$", done.stderr, re.MULTILINE)
    return done.stdout


def read(path: str) -> bytes:
    """A file. Throws InputError where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; check the path") from None


def counted(number: int, singular: str) -> str:
    return f"{number} {singular}{'' if number == 1 else 's'}"


def _with_unit(value: float, units: Sequence[Tuple[float, str]]) -> str:
    """Three digits, which are rounded before their unit is chosen: 1023.9 KiB is 1 MiB."""

    def rounded(number: float) -> Tuple[float, int]:
        digits = 2 if number < 10 else 1 if number < 100 else 0
        return int(number * 10**digits + 0.5) / 10**digits, digits

    last = len(units) - 1
    at = next((i for i in range(last) if rounded(value / units[i][0])[0] * units[i][0] < units[i + 1][0]),
              last)
    number, digits = rounded(value / units[at][0])
    text = f"{number:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if digits else text} {units[at][1]}"


def format_bytes(number: float) -> str:
    """ "1.5 KiB": units are binary."""
    return _with_unit(number, [(1024.0**i, unit) for i, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))])


def format_us(microseconds: float) -> str:
    """ "1.34 ms" """
    return _with_unit(microseconds, [(1, "us"), (1e3, "ms"), (1e6, "s")])


def main(module: str, folder: str) -> None:
    """perform(question) of chorale.MODULE, question and outcome in the folder."""
    global _folder
    _folder = pathlib.Path(folder)
    try:
        perform = importlib.import_module(f"chorale.{module}").perform
        perform(json.loads((_folder / "question").read_text())).write(_folder)
    except InputError as refused:
        _write(_folder, {"refused": _line(str(refused))})
