"""Dumps of PyTorch's flight recorder, which are pickles, as the JSON that `chorale job` reads.

A pickle may name any function and call it. Here nothing is imported and nothing is called: of names only
those are known with which PyTorch's own writer marks the types of lists and dictionaries, and they leave the
values as they are. `chorale job` reads dumps so.

Usage: python3 -m chorale.recorder DUMP...     writes DUMP.json beside each
"""
import io
import itertools
import json
import os
import pickle
import sys
from typing import Any, BinaryIO, Callable, Dict, List, Union

from .errors import InputError

MOST_TEXT = 1 << 28  # characters: a short pickle may have one list in another many times
# What PyTorch's pickler marks types with (torch/csrc/jit/serialization/pickler.cpp).
_MARKS: Dict[str, Callable[..., Any]] = {
    "restore_type_tag": lambda value, _: value,
    "build_intlist": list,
    "build_doublelist": list,
    "build_boollist": list
}


class _Values(pickle.Unpickler):
    """Numbers, texts, lists, tuples and dictionaries."""

    def __init__(self, file: BinaryIO, name: str):
        super().__init__(file)
        self.file_name = name

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch.jit._pickle" and name in _MARKS:
            return _MARKS[name]
        raise InputError(
            f"{self.file_name}: names {module}.{name}, which no dump of the flight recorder has; it was not "
            f"loaded"
        )

    def persistent_load(self, pid: Any) -> Any:
        raise InputError(f"{self.file_name}: refers to something outside of it; it was not loaded")


def _length(value: Any, known: Dict[int, int]) -> int:
    """Of texts and numbers in it, each as often as it is there: `known` has lists and dictionaries by id."""
    if not isinstance(value, (list, tuple, dict)):
        return len(value) if isinstance(value, str) else 1
    if id(value) not in known:
        inside = itertools.chain(value, value.values() if isinstance(value, dict) else ())
        known[id(value)] = 1 + sum(_length(each, known) for each in inside)
    return known[id(value)]


def as_json(dump: Union[str, "os.PathLike[str]"]) -> str:
    """The text of a dump as JSON. Throws InputError for a file that is none, and for one that names what
    would be called."""
    name = os.fspath(dump)
    with open(name, "rb") as file:
        data = file.read()
    try:
        found = _Values(io.BytesIO(data), name).load()
        if _length(found, {}) > MOST_TEXT:
            raise InputError(f"{name}: has more than {MOST_TEXT >> 20} MiB as JSON; it was not loaded")
        text = json.dumps(found)
    except InputError:
        raise
    except Exception as fault:  # a pickle that is cut, or no pickle: of any kind
        raise InputError(
            f"{name}: is not a dump of PyTorch's flight recorder ({type(fault).__name__})") from None
    if not isinstance(found, dict) or "entries" not in found:
        raise InputError(f"{name}: has no \"entries\"; a dump of PyTorch's flight recorder has")
    return text


def main(arguments: List[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print("usage: python3 -m chorale.recorder DUMP...", file=sys.stderr)
        return 2
    for dump in arguments:
        try:
            text = as_json(dump)
        except (InputError, OSError) as fault:
            print(f"chorale.recorder: error: {fault}", file=sys.stderr)
            return 2
        with open(f"{dump}.json.part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(f"{dump}.json.part", f"{dump}.json")
        print(f"wrote {dump}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
