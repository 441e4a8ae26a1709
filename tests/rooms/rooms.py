#!/usr/bin/env python3
"""Holds the includes of the tree, and the rooms in CMakeLists.txt, against the drawing in
docs/architecture.md."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
root = root if (root / "docs").is_dir() else root.parents[2]

allowed = {}
for line in (root / "docs/architecture.md").read_text().splitlines():
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if line.startswith("| ") and len(cells) == 3 and cells[0] != "room":
        allowed[cells[0]] = set(cells[2].split()) | {cells[0]}

faults, seen = [], 0
included = {room: set() for room in allowed}
for path in sorted(root.glob("*/**/*")):
    room = path.relative_to(root).parts[0]
    if room not in allowed or path.suffix not in {".h", ".cpp", ".cu"}:
        continue
    if path.is_relative_to(root / "codegen/cuda") or path.is_relative_to(root / "codegen/mpi"):
        continue  # texts that are emitted beside runtime/device, nothing of the room's own
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#include "([a-z_]+)/', line)
        if match:
            seen += 1
            included[room].add(match[1])
            if match[1] not in allowed[room]:
                faults.append(f"{path.relative_to(root)}:{number}: {room} may not include {match[1]}")

for room in allowed:
    if not (root / room).is_dir():
        faults.append(f"docs/architecture.md: there is no room {room}")
    for other in sorted(allowed[room] - included[room] - {room}):
        faults.append(f"docs/architecture.md: {room} includes nothing of {other}")
# A room is linked with those that it may include: room(NAME PUBLIC other ... PRIVATE another ...).
lists = "".join(path.read_text() for path in [root / "CMakeLists.txt", *(root / room / "CMakeLists.txt" for room in allowed)]
                if path.exists())
for name, arguments in re.findall(r"^room\((\w+)([^)]*)\)", lists, re.M):
    linked = {word for word in arguments.split() if word in allowed}
    for other in sorted(linked - allowed[name]):
        faults.append(f"CMakeLists.txt: {name} may not link with {other}")
    for other in sorted((linked & allowed[name]) - included[name]):
        faults.append(f"CMakeLists.txt: {name} links with {other} and includes nothing of it")
print("\n".join(faults) or f"{seen} includes in {len(allowed)} rooms, as drawn")
sys.exit(1 if faults or seen == 0 else 0)
