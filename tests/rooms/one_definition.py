#!/usr/bin/env python3
"""No type of the tree has the qualified name of another: the compiler does not see it where they are in
different files, and the linker takes the functions of one for those of the other.

Reads the sources, not the binaries: namespaces and the types that are defined directly in them, by their
braces. Types in anonymous namespaces are of their file alone; nested ones differ where those around them
do."""
import collections
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
root = root if (root / "docs").is_dir() else root.parents[2]

TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*~?\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|#[^\n]*(?:\\\n[^\n]*)*'
    r"|namespace(?:\s+[\w:]+)?\s*\{"
    r"|\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\s*\([^)]*\)\s*)?(\w+)\s*(?:final\s*)?(?::(?!:)[^{};()]*)?\{"
    r"|[{}]|;|template\s*<",
    re.S,
)


def types(text):
    """Qualified names of the types that are defined in namespaces other than anonymous ones."""
    scopes = []  # a namespace's name ("" for an anonymous one), or None for any other brace
    for match in TOKENS.finditer(text):
        token = match[0]
        if token.startswith("namespace"):
            scopes.append(token[len("namespace"):-1].strip())
        elif match[2]:
            if None not in scopes and "" not in scopes:
                yield "::".join([*scopes, match[2]])
            scopes.append(None)
        elif token == "{":
            scopes.append(None)
        elif token == "}" and scopes:
            scopes.pop()


places, files = collections.defaultdict(set), 0
for path in sorted(root.glob("*/**/*")):
    parts = path.relative_to(root).parts
    # Not of the program: emitted as text, stand-ins for headers of others, programs of their own, what was
    # built.
    if path.suffix not in {".h", ".cpp", ".cu"} or parts[0] == "build" or parts[:2] in {("preload", "include"),
            ("codegen", "cuda"), ("codegen", "mpi"), ("codegen", "nccl"), ("tests", "nccl"), ("tests", "preload")}:
        continue
    files += 1
    for name in types(path.read_text()):
        places[name].add(str(path.relative_to(root)))

faults = [f"{name}: defined in {' and '.join(sorted(where))}" for name, where in sorted(places.items()) if len(where) > 1]
print("\n".join(faults) or f"{len(places)} types in {files} files, each defined once")
sys.exit(1 if faults or len(places) < 100 else 0)
