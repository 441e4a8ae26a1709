#!/usr/bin/env python3
"""docs/adding.md is true: a solver, a construction, a collective and an export are added by the files and lines
that the page shows, and the program has them.

A file is shown behind its path, as a block of cpp; lines of a file that is there already as a block of diff, with
lines around them, hunks apart by @@. New and changed headers lie in a folder of their own, before the sources.
New and changed sources of a room are compiled as one file, with the room's own flags, and linked before the
libraries of the build: of two definitions the linker takes the first one. That is what an addition compiles, but
for sources that include a changed header and need nothing of it: values of enumerations are added at the end.

Usage: adding.py CHORALE SOURCE BUILD
"""
import collections
import json
import pathlib
import re
import resource
import shlex
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run, run_chorale, skip, work  # noqa: E402

source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[2:4])
page = (source / "docs/adding.md").read_text()
SHOWN = re.compile(r"^`([\w./]+)`:\n\n```(cpp|diff)\n(.*?)^```$", re.M | re.S)


def changed(path, text, diff):
    """The text with each hunk's lines in place of those that it takes away or keeps."""
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        assert all(line[0] in " +-" for line in lines) and any(line[0] != " " for line in lines), (path, hunk)
        before = "".join(line[1:] for line in lines if line[0] != "+")
        after = "".join(line[1:] for line in lines if line[0] != "-")
        assert text.count(before) == 1, f"docs/adding.md: {path} has these lines {text.count(before)} times:\n{before}"
        text = text.replace(before, after)
    return text


def add(section):
    """Puts what the section shows into `new`; the paths of its sources."""
    text = page.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    shown = SHOWN.findall(text)
    assert shown and len(shown) == text.count("```cpp") + text.count("```diff"), f"{section}: a block without its path"
    for path, kind, block in shown:
        target = new / path
        target.parent.mkdir(parents=True, exist_ok=True)
        was = target if target.exists() else source / path
        assert (kind == "diff") == was.exists(), f"{section}: {path} is shown as {kind}"
        target.write_text(changed(path, was.read_text(), block) if kind == "diff" else block)
    paths = [path for path, _, _ in shown if path.endswith(".cpp")]
    # A table in a header is read by the source of its name, as it is.
    for path in (re.sub("h$", "cpp", path) for path, _, _ in shown if path.endswith(".h")):
        if path not in paths and (source / path).exists():
            if not (new / path).exists():
                (new / path).write_text((source / path).read_text())
            paths.append(path)
    return paths


def flags_of(room):
    """How the room's sources are compiled, without the names of files."""
    entries = json.loads((build / "compile_commands.json").read_text())
    command = next(entry["command"] for entry in entries
                   if f"-o CMakeFiles/{room}.dir/" in entry["command"] and "cmake_pch" not in entry["file"])
    words = shlex.split(command)
    for option in ("-o", "-c", "-MT", "-MF"):
        if option in words:
            del words[words.index(option):words.index(option) + 2]
    at = next(i for i, word in enumerate(words) if word.startswith("-I"))
    return [*words[:at], f"-I{new}", *words[at:]]


def link_command():
    commands = run("ninja", "-t", "commands", "bin/chorale", cwd=build).splitlines()
    return re.match(r": && (.*) && :$", commands[-1])[1]


if not (build / "build.ninja").exists():
    skip("the build is not of Ninja, which reports how the program is linked")
new = work / "new"
rooms = collections.defaultdict(list)
for section in ("A solver", "A construction", "A collective", "An export"):
    for path in add(section):
        if path not in rooms[path.split("/")[0]]:
            rooms[path.split("/")[0]].append(path)

# Before: the program refuses each by name.
asked = ("synthesize", "ring:4", "allgather", "--steps", "2", "--rounds", "2")
refused(*asked, "--solver", "dpll", says="dpll")
refused("frontier", "ring:4", "shift", says="shift")
refused("emit", "result.json", "--target", "csv", says="csv")

objects = []
for room, paths in sorted(rooms.items()):
    together, made = work / f"{room}.cpp", work / f"{room}.o"
    together.write_text("".join(f'#include "{new / path}"\n' for path in paths))
    run(*flags_of(room), "-c", together, "-o", made, cwd=build, timeout=900)
    objects.append(made)
(work / "bin").mkdir()
(work / "lib").symlink_to(build / "lib")
chorale = work / "bin/chorale"
words = [word.replace("\\$", "$") for word in shlex.split(link_command())]
words[words.index("-o") + 1] = str(chorale)
first = next(i for i, word in enumerate(words) if word.endswith(".o"))
run(*words[:first], "-Wl,-z,muldefs", *objects, *words[first:], cwd=build, timeout=900)
used = resource.getrusage(resource.RUSAGE_CHILDREN)

# The solver: --solver and its help have it; it answers the formulas of an engine, as CaDiCaL does.
assert "dpll" in run(chorale, "synthesize", "--help")
for steps, rounds, code in ((2, 2, 0), (1, 9, 20)):
    question = ("synthesize", "ring:4", "allgather", "--steps", steps, "--rounds", rounds, "--engine", "sat-partition",
                "--no-bounds")
    answers = [json.loads(run(chorale, *question, "--solver", solver, "--json", "-", code=code).stdout)
               for solver in ("dpll", "cadical")]
    assert [len(answer["points"]) for answer in answers] == 2 * [int(code == 0)], answers

# The construction: a point has its name, and the check accepts it.
run(chorale, "frontier", "ring:4", "allgather", "--max-chunks", 1, "--json", "found.json")
assert '"construction":"flood"' in (work / "found.json").read_text().replace('": "', '":"')
run(chorale, "check", "found.json")

# The collective: searched, proven, verified, run on values, and emitted.
run(chorale, "frontier", "ring:5", "shift", "--json", "shift.json")
run(chorale, "check", "shift.json")
run(chorale, "run", "shift.json", "--bytes", "4K")

# The target: a line a message. Each rank's value goes to the next rank, and, since it floods, elsewhere.
run(chorale, "emit", "shift.json", "--target", "csv", "--point", 0, "-o", "table")
(table,) = work.glob("table/*.csv")
rows = [line.split(",") for line in table.read_text().splitlines()]
assert rows[0] == ["step", "from", "to", "message"], rows
assert {(n, (n + 1) % 5) for n in range(5)} <= {(int(a), int(b)) for _, a, b, _ in rows[1:]}, rows
print(f"{sum(map(len, rooms.values()))} sources of {len(rooms)} rooms: {used.ru_utime + used.ru_stime:.0f} s of CPU to compile and link")
