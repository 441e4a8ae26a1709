#!/usr/bin/env python3
"""No function of an unnamed namespace is found in place of one that another source means.

The unity build compiles sources of a room together, and their unnamed namespaces are one. A call in such a
namespace that means a function of a header finds one of the same name there first, from whichever source,
and is compiled if the arguments convert. So a source does not call, by a bare name, a function of a header
that it includes, where another source of the room has a function of that name, and parameters to which as
many arguments fit, in its unnamed namespace.

Reads the sources: scopes by their braces, calls by their names and commas. Arguments of types of ours find
the header's function as well (by their namespace), so a call that is reported may be right; rename one of the
two."""
import collections
import functools
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
root = root if (root / "docs").is_dir() else root.parents[2]

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*~?\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", re.M)
INCLUDE = re.compile(r'^#include "([\w./]+)"', re.M)
OPEN = re.compile(r"namespace(?:\s+([\w:]+))?\s*\{|[{}]")
CALL = re.compile(r"(?<![\w.:>~])([a-z_]\w*)\s*\(")
KEYWORDS = set("if for while switch return sizeof catch assert requires decltype noexcept alignas throw new delete "
               "static_assert constexpr operator template static_cast defined".split())


def closing(text, at):
    """The index of the bracket that closes the one at `at`; commas at its own depth."""
    depth, angle, commas = 0, 0, 0
    for i in range(at, len(text)):
        c = text[i]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return i, commas, text[at + 1:i].strip() == ""
        elif c == "<" and text[i - 1] not in " <" and depth == 1:
            angle += 1
        elif c == ">" and angle and text[i - 1] != "-" and depth == 1:
            angle -= 1
        elif c == "," and depth == 1 and angle == 0:
            commas += 1
    return len(text), commas, False


@functools.cache
def source(path):
    text = path.read_text()
    clean = NOISE.sub(lambda m: '""' if m[0][0] in "\"R" else "0" if m[0][0] == "'" else "", text)
    return INCLUDE.findall(text), DIRECTIVE.sub("", clean)


def functions(text, wanted):
    """Functions that are declared or defined directly in namespaces, as name -> [fewest, most arguments]; of
    unnamed namespaces, or of others."""
    result, scopes, start = collections.defaultdict(list), [], 0
    for match in OPEN.finditer(text):
        if match[0] == "}":
            if all(s is not None for s in scopes) and ("" in scopes) == wanted:
                declared(text[start:match.start()], result)
            if scopes:
                scopes.pop()
            if all(s is not None for s in scopes):
                start = match.end()
        else:
            named = match[1] if match[0].startswith("namespace") else None
            is_scope = match[0].startswith("namespace")
            if all(s is not None for s in scopes):
                if ("" in scopes) == wanted:
                    declared(text[start:match.start()], result)
                start = match.end()
            scopes.append((named or "") if is_scope else None)
    return result


def declared(text, result):
    """What a stretch of text at namespace scope declares: `type name(parameters)`, the last one with a
    body."""
    for statement in re.split(r";", text):
        match = re.search(r"[\w>&*\]]\s+[&*]*([a-z_]\w*)\s*\(", statement)
        if not match or match[1] in KEYWORDS or re.match(r"\s*(?:using|friend|typedef|#)", statement):
            continue
        end, commas, empty = closing(statement, match.end() - 1)
        parameters = statement[match.end():end]
        most = 0 if empty else commas + 1
        result[match[1]].append((most - parameters.count(" = "), 99 if "..." in parameters else most))


@functools.cache
def header_functions(path):
    return functions(source(path)[1], wanted=False)


@functools.cache
def included(path):
    seen, todo = set(), [path]
    while todo:
        for name in source(todo.pop())[0]:
            header = root / name
            if header.is_file() and header not in seen:
                seen.add(header)
                todo.append(header)
    return seen


def calls(text):
    for match in CALL.finditer(text):
        if match[1] not in KEYWORDS:
            _, commas, empty = closing(text, match.end() - 1)
            yield match[1], 0 if empty else commas + 1


build = (root / "CMakeLists.txt").read_text()
tensor = (root / "tensor/CMakeLists.txt").read_text()
build += tensor + "".join(f" tensor/{folder}/*.cpp" for folder in re.findall(r"(\w+)/\*\.cpp", tensor))
rooms = {room: sorted((root / room).glob("*.cpp")) for room in re.findall(r"^room\((\w+)", build, re.M)}
for folder in re.findall(r"(\w+/\w+)/\*\.cpp", build):
    rooms[folder.split("/")[0]] += sorted((root / folder).glob("*.cpp"))
faults, seen = [], 0
for room, paths in rooms.items():
    hidden = {path: functions(source(path)[1], wanted=True) for path in paths}
    for path in paths:
        visible = collections.defaultdict(list)
        for header in sorted(included(path)):
            for name, counts in header_functions(header).items():
                visible[name].append((header, counts))
        asked = collections.defaultdict(set)
        for name, arguments in calls(source(path)[1]):
            asked[name].add(arguments)
        seen += len(hidden[path])
        for other in paths:
            for name, counts in hidden[other].items():
                if other == path or name not in visible or name not in asked or name in hidden[path]:
                    continue
                if any(low <= n <= high for n in asked[name] for low, high in counts):
                    faults.append(f"{path.relative_to(root)} calls {name} of {visible[name][0][0].relative_to(root)}, "
                                  f"which {other.relative_to(root)} has in its unnamed namespace, too")
print("\n".join(sorted(set(faults))) or f"{seen} functions of {len(rooms)} rooms hide none that another source calls")
sys.exit(1 if faults or seen < 1000 else 0)
