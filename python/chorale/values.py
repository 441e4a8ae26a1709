"""Values of a JSON text that know where they stand, so that each error names the place in one line."""

from __future__ import annotations

import json
from typing import Any, List

from chorale.errors import InputError


class Value:
    """A value of a JSON text and where it stands, which errors name."""

    def __init__(self, value: Any, where: str) -> None:
        self.value, self.where = value, where

    def fail(self, what: str, remedy: str) -> InputError:
        return InputError(f"{self.where}: {what}; {remedy}")

    def has(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def __getitem__(self, key: str) -> Value:
        if not self.has(key):
            raise self.fail(f"'{key}' is missing", "add it")
        return Value(self.value[key],
                     f"{self.where}: {key}" if ": " not in self.where else f"{self.where}.{key}")

    def items(self, most: int) -> List[Value]:
        if not isinstance(self.value, list):
            raise self.fail("is not a list", "give a list")
        if len(self.value) > most:
            raise self.fail(f"has {len(self.value)} values", f"use at most {most}")
        return [Value(each, f"{self.where}[{i}]") for i, each in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.fail("is not a text", "give a text")
        return self.value

    def number(self, least: float, most: float) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.fail("is not a number", "give a number")
        if not least <= self.value <= most:
            raise self.fail(f"{self.value} is out of range", f"use {least:g} to {most:g}")
        return float(self.value)

    def whole(self, least: int, most: int) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.fail("is not an integer", "give an integer")
        if not least <= self.value <= most:
            raise self.fail(f"{self.value} is out of range", f"use {least} to {most}")
        return self.value

    def only(self, *keys: str) -> None:
        """An object with no other members."""
        if not isinstance(self.value, dict):
            raise self.fail("is not an object", "give an object")
        for key in self.value:
            if key not in keys:
                raise self.fail(f"unknown member '{key[:40]}'", f"use {', '.join(keys)}")


def parsed(text: str, file: str) -> Value:
    try:
        return Value(json.loads(text), file)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is not JSON ({error}); check the file") from None
