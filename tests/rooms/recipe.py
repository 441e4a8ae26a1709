#!/usr/bin/env python3
"""Lowering is composed in one place: of all sources that know codegen/, none but codegen/passes/lower.cpp
calls a pass, so that `run`, `bench`, `emit`, the preload libraries and workloads do not come apart. And
Verified values are made by the verifier alone.

Reads the sources: passes are what the headers of passes declare."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
root = root if (root / "docs").is_dir() else root.parents[2]

RECIPE = "codegen/passes/lower.cpp"
HEADERS = [f"codegen/passes/{name}.h" for name in ("passes", "relax", "peer_lowering")]
SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)

texts = {path.relative_to(root).as_posix(): path.read_text() for path in sorted(root.glob("*/**/*"))
         if path.suffix in {".h", ".cpp", ".cu"} and path.relative_to(root).parts[0] not in {"build", "tests"}}
code = {path: SKIPPED.sub("", text) for path, text in texts.items()}
passes = {name for header in HEADERS for name in re.findall(r"^[\w:<>]+ (\w+)\((?:const|Program)", code[header], re.M)}

faults = []
for path, text in code.items():
    if path.startswith("codegen/") or '#include "codegen/' in texts[path]:
        for name in passes:
            defines = re.search(rf"^[\w:<>]+ {name}\(", text, re.M)  # its own header and source, which may call it
            if re.search(rf"(?<![.>\w]){name}\((?!\))", text) and not defines and path != RECIPE:
                faults.append(f"{path}: calls {name}: give lower() an option (codegen/passes/lower.h)")
    if '#include "codegen/passes/passes.h"' in texts[path] and not path.startswith("codegen/passes/"):
        faults.append(f"{path}: includes the passes: include codegen/passes/lower.h")

for maker, known in (("Verifier", {"ir/verified.h", "semantics/verified.cpp"}), ("UnverifiedForTests", {"ir/verified.h"})):
    users = {path for path, text in code.items() if re.search(rf"\b{maker}\b", text)}
    faults += [f"{path}: names {maker}, which it may not" for path in sorted(users - known)]
    faults += [f"{path}: does not name {maker}" for path in sorted(known - users)]

print("\n".join(faults) or f"{len(passes)} passes, called by {RECIPE} alone: {', '.join(sorted(passes))}")
sys.exit(1 if faults or len(passes) != 8 else 0)
