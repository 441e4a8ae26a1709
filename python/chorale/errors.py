"""What can go wrong."""

from __future__ import annotations

from typing import Any


class InputError(ValueError):
    """What was given cannot be used: one line with the place, what is wrong there, and what to do."""


class Hang(RuntimeError):
    """A rank did not come in time; the message names it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while something was searched or checked. `result` is what was found until then: of a search a
    Result whose `stopped` is 'interrupted', which is sound; what it has not shown is not marked as proven."""

    def __init__(self, result: Any = None) -> None:
        super().__init__("interrupted; .result is what was found until then")
        self.result = result


def needed(name: str, purpose: str) -> Any:
    """A package that is used where it is installed."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise ImportError(f"{purpose} needs {package}: pip install {package}") from error
