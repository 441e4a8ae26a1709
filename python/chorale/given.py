"""What callers give, as the extension takes it: changes of a machine, groups of ranks, jobs, listeners. What
cannot be meant is refused here, in the words of the package."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from chorale import _chorale
from chorale._chorale import Progress
from chorale.errors import InputError

Listener = Union[bool, None, Callable[[Progress], Any]]
File = Union[str, "os.PathLike[str]"]
Sizes = Union[str, Iterable[Union[int, str]]]  # of messages: [1024, "64K"], or "1K:1G:4"


def changes(without_links: Iterable[str], without_ranks: Iterable[str], degraded: Iterable[str],
            call_us: Optional[float] = None) -> Dict[str, Any]:
    given = {"without_links": without_links, "without_ranks": without_ranks, "degraded": degraded}
    for name, value in given.items():
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise TypeError(f"{name}: {value!r} is not a list")
    return {
        "without_links": list(without_links),
        "without_ranks": [str(rank) for rank in without_ranks],
        "degraded": list(degraded),
        "call_us": call_us
    }


def lists(name: str, given: Any) -> str:
    """Numbers, or lists of them, as the command line has them."""
    if given is None or isinstance(given, (str, os.PathLike)):
        return "" if given is None else os.fspath(given)
    if not isinstance(given, Iterable):
        raise TypeError(f"{name}: {given!r} is not a list")
    numbers = list(given)
    rows = [list(each) for each in numbers] if all(
        isinstance(each, Iterable) for each in numbers) else [numbers]
    if not rows or not all(rows):
        raise InputError(f"{name}: a list is empty; leave it out, or name some")
    return ";".join(",".join(map(str, row)) for row in rows)


def with_folder(options: Mapping[str, Any]) -> Dict[str, Any]:
    folder = os.fspath(options.get("proofs", ""))
    if folder:
        os.makedirs(folder, exist_ok=True)
    return dict(options, proofs=folder)


def sizes_of(name: str, given: Sizes) -> List[int]:
    """Bytes as they are given: integers, texts as the command line takes them ("64K"), or one text for all
    ("1K:1G:4")."""
    if isinstance(given, str):
        return _chorale.sizes(name, given)
    if any(not isinstance(each, str) and not 0 <= each < 2**63 for each in given):
        raise InputError(f"{name}: are negative, or too many; use 0 to 2^63 - 1")
    return [
        size for each in given for size in (_chorale.sizes(name, each) if isinstance(each, str) else [int(each)])
    ]


def text_of(file: File) -> str:
    try:
        return pathlib.Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{os.fspath(file)}: cannot be read: {error}; check the path") from error


def job_of(job: Union[Mapping[str, Any], File, None], axes: Optional[Mapping[str, int]], reduce: List[str],
         bytes: Union[float, str], goal: str, element: int) -> Dict[str, Any]:
    if isinstance(bytes, str):
        (bytes, ) = _chorale.sizes("bytes", bytes)
    if job is not None:
        try:
            asked = dict(job) if isinstance(job, Mapping) else json.loads(text_of(job))
        except json.JSONDecodeError as error:
            raise InputError(f"{os.fspath(job)}: {error}; docs/formats.md has jobs") from error
        if isinstance(asked, dict) and "job_template" in asked and not reduce and not bytes:
            return sized(asked, axes or {})
        if axes or reduce or bytes:
            raise InputError("job: excludes axes, reduce and bytes; drop one or the others")
        return asked
    if axes is not None and not isinstance(axes, Mapping):
        raise TypeError(f"axes: {axes!r} is not a mapping")
    if not axes or not reduce or not bytes > 0:
        raise InputError("place: give a job, or axes, reduce and bytes")
    return {
        "job": "",
        "axes": [{
            "name": name,
            "size": size
        } for name, size in axes.items()],
        "reductions": [{
            "name": ",".join(reduce),
            "goal": goal,
            "axes": reduce,
            "bytes": bytes,
            "element_bytes": element
        }]
    }


def sized(template: Dict[str, Any], sizes: Mapping[str, int]) -> Dict[str, Any]:
    """The template with these sizes of axes."""
    rows = [dict(row) for row in template.get("axes", [])]
    for name, size in sizes.items():
        row = rows[numbers("axes", [row.get("name", "") for row in rows])(name)]
        if size > row.get("most", size):
            raise InputError(f"axes: {name}={size} is more than the template's {row['most']}; use less")
        row["size"] = size
    return dict(template, axes=rows)


def numbers(what: str, names: List[str]) -> Callable[[str], int]:
    def number(name: str) -> int:
        if name not in names:
            raise InputError(f"{what}: {name!r} is not known; use one of {', '.join(names)}")
        return names.index(name)

    return number


class listening:
    """A listener for the search, or None. The line on standard error is wiped away in the end."""

    def __init__(self, progress: Listener) -> None:
        self.wants, self.width = progress, 0

    def __enter__(self) -> Optional[Callable[[Progress], Any]]:
        return self.show if self.wants is True else self.wants or None

    def show(self, progress: Progress) -> None:
        line = f"{progress.points} point{'s' * (progress.points != 1)}; {progress.seconds:.0f} s; {progress.doing}"[:100]
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def __exit__(self, *_: Any) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
