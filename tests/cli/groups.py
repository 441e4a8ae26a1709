#!/usr/bin/env python3
"""Groups of ranks and counts as a user asks for them: answers that are checked, run and printed as programs,
and one clear line for what cannot be asked.

Usage: groups.py CHORALE
"""
import json
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402


def asked(*arguments):
    """The collective of a question, by the result of a short search."""
    run("frontier", *arguments, "--max-chunks", "1", "--conflicts", "100", "--json", "asked.json")
    return json.loads((work / "asked.json").read_text())


def places(collective):
    """What each rank has and needs: {rank: {position: chunk}}."""
    before, after = {}, {}
    for number, chunk in enumerate(collective["chunks"]):
        for rank in chunk["pre"]:
            before.setdefault(rank, {})[chunk["input"]] = number
        for rank in chunk["post"]:
            after.setdefault(rank, {})[chunk["output"]] = number
    return before, after


# Each kind, with groups and counts: checked, run in all its uses, and printed as a program.
for question in (["ring:4", "allreduce", "--group", "3,1,0"],
                 ["ring:4", "allgather", "--groups", "0,2;1,3"],
                 ["ring:4", "broadcast", "--groups", "0,1;2,3", "--root", "1"],
                 ["mesh:2x3", "reducescatter", "--groups", "row"],
                 ["mesh:2x3", "allgather", "--groups", "columns"],
                 ["ring:4", "allgatherv", "--counts", "3,1,0,2"],
                 ["ring:4", "reducescatterv", "--counts", "0,1,2,0"],
                 ["ring:4", "alltoallv", "--counts", "0,2,0,1;1,0,0,0;0,0,3,0;1,1,1,1"],
                 ["star:4", "gatherv", "--counts", "1,0,2", "--group", "3,0,2", "--root", "2"],
                 ["star:4", "scatterv", "--counts", "1,2;0,1", "--groups", "0,1;2,3"],
                 ["ring:4", "allgather", "--group", "2"],
                 ["ring:4", "allgather", "--groups", "2;0,1"]):
    run("frontier", *question, "--max-chunks", "2", "--conflicts", "1000", "--json", "r.json", code=0)
    run("check", "r.json")
    run("show", "r.json")
    run("run", "r.json", "--bytes", "4K", "--iterations", "1")
    if json.loads((work / "r.json").read_text())["points"]:
        for target in ("json", "mpi"):
            run("emit", "r.json", "--target", target, "-o", f"out_{target}")
    run("bounds", *question)
run("synthesize", "ring:4", "allgatherv", "--counts", "1,0,0,2", "--json", "s.json")
run("check", "s.json")

# All ranks as they are numbered are the collective itself; a file states the same as the options.
assert asked("ring:4", "allgather", "--group", "0,1,2,3")["collective"]["collective"] == "allgather"
(work / "counts.json").write_text("[3, 1, 0, 2]")
inline = asked("ring:4", "allgatherv", "--counts", "3,1,0,2")["collective"]
assert inline["collective"] == "allgatherv" and asked("ring:4", "allgatherv", "--counts", "./counts.json")["collective"] == inline
(work / "counts.json").write_text("[[0, 2], [1, 0]]")
assert (asked("ring:4", "alltoallv", "--group", "1,3", "--counts", "counts.json")["collective"]
        == asked("ring:4", "alltoallv", "--group", "1,3", "--counts", "0,2;1,0")["collective"])

# Buffers are MPI's: what rank s has for rank d, in the order of d; what comes, in the order of s.
before, after = places(inline)
assert {rank: len(chunks) for rank, chunks in before.items()} == {0: 3, 1: 1, 3: 2}
assert all([after[rank][i] for i in range(6)] == list(range(6)) for rank in range(4))


def block(kind, group, root, source, destination):
    """Which ranks of the group have and need what its rank `source` has for `destination`; none: there is no
    such block."""
    one, all_of_it, first = [group[source]], sorted(group), source == 0
    return {"broadcast": ([group[root]], all_of_it) if first and destination == 0 else None,
            "reduce": (all_of_it, [group[root]]) if first and destination == 0 else None,
            "allreduce": (all_of_it, all_of_it) if first and destination == 0 else None,
            "allgather": (one, all_of_it) if destination == 0 else None,
            "gather": (one, [group[root]]) if destination == 0 else None,
            "scatter": ([group[root]], [group[destination]]) if first else None,
            "reducescatter": (all_of_it, [group[destination]]) if first else None,
            "alltoall": (one, [group[destination]])}[kind]


def expected(kind, groups, counts, root):
    """The chunks, in the order of sources and then destinations; positions without gaps, as MPI has them."""
    chunks = []
    for group, rows in zip(groups, counts):
        received = {}
        for source in range(len(group)):
            sent = 0
            for destination in range(len(group)):
                ends = block(kind, group, root, source, destination)
                if ends is None:
                    continue
                for _ in range(1 if rows is None else rows[source][destination]):
                    chunks.append({"pre": ends[0], "post": ends[1], "input": sent, "output": received.get(destination, 0)})
                    sent += 1
                    received[destination] = received.get(destination, 0) + 1
    return chunks


def matrix(kind, counts, n):
    """Counts by source and destination."""
    if kind == "alltoall":
        return counts
    by_source = kind in ("allgather", "gather")
    return [[counts[0][i if by_source else j] for j in range(n)] for i in range(n)]


generator = random.Random(5)
for turn in range(60):
    kind = generator.choice(["broadcast", "reduce", "allreduce", "allgather", "gather", "scatter", "reducescatter", "alltoall"])
    ranks = generator.sample(range(6), 6)
    parts = [ranks[i::3] for i in range(3)][:generator.randint(1, 3)] if generator.random() < 0.6 else [ranks[:generator.randint(1, 6)]]
    options = ["--groups", ";".join(",".join(map(str, part)) for part in parts)]
    root = 0
    if kind in ("broadcast", "reduce", "gather", "scatter"):
        root = generator.randrange(min(map(len, parts)))
        options += ["--root", str(root)]
    counts, name = [None] * len(parts), kind
    if kind in ("allgather", "gather", "scatter", "reducescatter", "alltoall") and generator.random() < 0.6:
        given = [[[generator.choice([0, 0, 1, 2]) for _ in part] for _ in (part if kind == "alltoall" else [0])] for part in parts]
        if not any(count for rows in given for row in rows for count in row):
            continue
        name = kind + "v"
        options += ["--counts", ";".join(",".join(map(str, row)) for rows in given for row in rows)]
        counts = [matrix(kind, rows, len(part)) for rows, part in zip(given, parts)]
    result = asked("torus:2x3", name, *options)
    assert result["collective"]["combining"] == (kind in ("reduce", "allreduce", "reducescatter")), (turn, name, options)
    assert result["collective"]["chunks"] == expected(kind, parts, counts, root), (turn, name, options, result["collective"]["chunks"])
    run("check", "asked.json")

# Names of groups: sides of a grid, hosts, levels; a machine without a rank has them without it.
def groups(machine, name, *more):
    collective = asked(machine, "broadcast", "--groups", name, *more)["collective"]
    return [chunk["post"] for chunk in collective["chunks"]]


assert groups("mesh:2x3", "row") == [[0, 1, 2], [3, 4, 5]] and groups("mesh:2x3", "column") == [[0, 3], [1, 4], [2, 5]]
assert groups("mesh:2x3", "row", "--without-rank", "1") == [[0, 1], [2, 3, 4]]
assert groups("dgx-a100:2", "boxes") == [list(range(8)), list(range(8, 16))]
assert groups("dgx-a100:2", "rails") == [[i, i + 8] for i in range(8)] == groups("dgx-a100:2", "node")

# The bound of four Allgathers at once: 48 crossings between rows over 32 links.
text = run("bounds", "torus:4x4", "allgather", "--groups", "column")
assert "3/2" in text, text

# What cannot be asked, and what to do.
for question, words in ((["--group", "0,9"], "'9' is not a rank of ring:4"), (["--group", "0,x"], "is not a rank"), (["--group", "1,1"], "rank 1 twice"),
                        (["--group", "0,,1"], "lacks a rank"), (["--group", "0,-1"], "is not a rank"), (["--group", ""], "names nothing"), (["--groups", "0,1;1,2"], "rank 1 is in two groups"),
                        (["--groups", "0,1;"], "lacks a rank"), (["--groups", "row"], "is not a kind of group"), (["--group", "0,1", "--groups", "0;1"], "one of them"),
                        (["--counts", "1,1,1,1"], "use allgatherv"), (["--group", "0,1", "--root", "1"], "has no root")):
    message = refused("bounds", "ring:4", "allgather", *question)
    assert words in message, (question, message)
for collective, counts, words in (("allgatherv", "1,2", "2 counts"), ("allgatherv", "0,0,0,0", "all 0"), ("allgatherv", "1,2,3,x", "is not a count"),
                                  ("allgatherv", "1,2,,4", "lacks a count"), ("allgatherv", "1,1,1,1;2,2,2,2", "2 rows"),
                                  ("allgatherv", "-1,0,0,1", "is not a count"), ("allgatherv", "1000000,1000000,1,1", "chunks"),
                                  ("alltoallv", "1,1,1,1", "1 row"), ("alltoallv", "1,1;1,1", "2 rows"), ("allreduce", "1,1,1,1", "leave them out"),
                                  ("allgatherv", "missing.json", "missing.json")):
    message = refused("bounds", "ring:4", collective, "--counts", counts)
    assert words in message, (collective, counts, message)
for question, words in ((["allgatherv"], "--counts"), (["broadcast", "--group", "0,1", "--root", "2"], "use 0 to 1"),
                        (["scatterv", "--counts", "1,1,1,1", "--root", "4"], "use 0 to 3"),
                        (["./counts.json", "--group", "0,1"], "collectives that are named")):
    message = refused("bounds", "ring:4", *question)
    assert words in message, (question, message)
(work / "counts.json").write_text("[1, -2, 0, 1]")
refused("bounds", "ring:4", "allgatherv", "--counts", "counts.json", says="counts.json")
(work / "counts.json").write_text("[]")
refused("bounds", "ring:4", "allgatherv", "--counts", "counts.json", says="empty")
print("groups and counts: answers checked and run, refusals in one line")
