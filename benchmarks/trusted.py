#!/usr/bin/env python3
"""How many lines have to be believed: of each row of the table in docs/trust.md, the files that do the
checking.

Usage: trusted.py
Lines of code are those that are neither blank nor a comment alone. A header counts with its .cpp.
"""
import pathlib
import re

root = pathlib.Path(__file__).resolve().parents[1]


def lines_of(path):
    lines = [line.strip() for line in path.read_text().splitlines()]
    return len(lines), sum(1 for line in lines if line and not line.startswith("//"))


rows = [line.split("|")[1:-1] for line in (root / "docs/trust.md").read_text().splitlines() if line.startswith("| ") and line.count("|") == 5]
print(f"{'lines':>6} {'code':>6}  files")
for said, checked_by, believed, _ in rows[1:]:
    files = []
    for name in re.findall(r"`([a-z]+/[\w/]+\.cpp)`", checked_by + believed):
        files += [path for path in (root / name, (root / name).with_suffix(".h")) if path.exists()]
    counts = [lines_of(path) for path in files]
    print(f"{sum(c[0] for c in counts):>6} {sum(c[1] for c in counts):>6}  {said.strip()}")
    print(f"{'':>15}{', '.join(str(path.relative_to(root)) for path in files)}")
