#!/usr/bin/env python3
"""Includes go in one direction within a room, too: there is no circle of units (a header with its source),
and of two folders of the tree not each includes the other."""
import collections
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
root = root if (root / "docs").is_dir() else root.parents[2]


def circles(edges):
    """The sets of nodes that reach each other, sorted (Tarjan 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(" ".join(sorted(stack[at:])))
            del stack[at:]

    sys.setrecursionlimit(10_000)
    for node in sorted(edges):
        if node not in number:
            visit(node)
    return found


files = {str(path.relative_to(root)): path for path in sorted(root.glob("*/**/*"))
         if path.suffix in {".h", ".cpp", ".cu"} and path.relative_to(root).parts[0] not in {"build", "tests"}}
units, folders = collections.defaultdict(set), collections.defaultdict(set)
for name, path in files.items():
    for included in re.findall(r'^\s*#include "([\w/.]+)"', path.read_text(), re.M):
        if included not in files:
            continue
        here, there = name.rsplit(".", 1)[0], included.rsplit(".", 1)[0]
        if here != there:
            units[here].add(there)
        folders[str(pathlib.Path(name).parent)].add(str(pathlib.Path(included).parent))

faults = [f"{circle}: include each other in a circle" for circle in circles(units)]
faults += [f"{here} and {there}: folders that include each other" for here in sorted(folders) for there in sorted(folders[here])
           if here < there and here in folders.get(there, ())]
print("\n".join(faults) or f"{len(units)} units in {len(folders)} folders, no circles")
sys.exit(1 if faults or len(units) < 100 else 0)
