#!/usr/bin/env python3
"""tests/data is complete and accounted for: each file has a line in its SOURCES (or its folder has one) with
an origin and a licence whose text is there; each line has its file; a test names each folder. Nothing names a
folder beside this tree."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
root = root if (root / "docs").is_dir() else root.parents[2]
data = root / "tests/data"
faults = []

rows = [re.split(r"  +", line) for line in (data / "SOURCES").read_text().splitlines()[3:]]
faults += [f"tests/data/SOURCES: {row[0]}: no file, origin and licence" for row in rows if len(row) != 3]
listed = {row[0]: row[2] for row in rows if len(row) == 3}
faults += [f"tests/data/SOURCES: {name} is not there" for name in listed if not (data / name).exists()]
licences = {path.stem for path in (data / "licences").iterdir()}
faults += [f"tests/data/SOURCES: {name}: there is no licences/{licence}.txt" for name, licence in listed.items() if licence not in licences | {"own"}]
faults += [f"tests/data/licences/{name}.txt: is of no file" for name in sorted(licences - set(listed.values()))]

files = [path.relative_to(data) for path in sorted(data.rglob("*")) if path.is_file() and path.parent.name != "licences" and path.name != "SOURCES"]
for file in files:
    if not any(name == file.as_posix() or name.endswith("/") and file.as_posix().startswith(name) for name in listed):
        faults.append(f"tests/data/{file}: has no line in SOURCES")
tests = "\n".join(path.read_text() for path in sorted((root / "tests").rglob("*")) if path.suffix in {".py", ".cpp", ".cmake"})
faults += [f"tests/data/{folder}: no test names it" for folder in sorted({file.parent for file in files}) if not re.search(rf"\b{re.escape(folder.name)}\b", tests)]

# Paths in texts that lead out of the tree.
for top in sorted(path for path in root.iterdir() if path.name not in {".git", "build"}):
    for path in [top] if top.is_file() else sorted(top.rglob("*")):
        if path.suffix in {".py", ".cpp", ".h", ".cmake", ".sh", ".md"} and path.name != "data.py" or path.name == "CMakeLists.txt":
            faults += [f"{path.relative_to(root)}: names {found}, which a clone has not"
                       for found in re.findall(r"\.\./shared[\w/.-]*|\bshared/data[\w/.-]*", path.read_text())]

print("\n".join(faults) or f"{len(files)} files, {len(licences)} licences; every folder is named by a test")
sys.exit(1 if faults or len(files) < 50 else 0)
