#!/usr/bin/env python3
"""Damaged libraries and results, by bytes and by values: whatever is in a file, each reader of it ends by
itself, soon, with an exit code of docs/exit-codes.md and at most a line of why it refuses; and nothing is
left half-written.

Usage: damaged_files.py CHORALE [SEED] [--count N] [--python]      --python: the package's readers, too (PYTHONPATH has it)
"""
import collections
import functools
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run as run_other, skip, work  # noqa: E402

chorale = os.path.abspath(sys.argv[1])
count = int(sys.argv[sys.argv.index("--count") + 1]) if "--count" in sys.argv else 12
numbers = [word for word in sys.argv[2:] if word.isdigit() and sys.argv[sys.argv.index(word) - 1] != "--count"]
seed = int(numbers[0]) if numbers else 5
dice = random.Random(seed)
print(f"seed {seed}, {count} of each kind")
if "--python" in sys.argv and subprocess.run([sys.executable, "-c", "import chorale"], capture_output=True).returncode != 0:
    skip("Python read nothing: this interpreter has not the package")
SECONDS = 60
run = functools.partial(run_other, code=None, errors="replace", timeout=SECONDS)


def unpacked(blob):
    return zlib.decompress(blob[8:])


def packed(text):
    return len(text).to_bytes(8, "little") + zlib.compress(text)


(work / "spec.json").write_text(json.dumps({"machines": ["ring:4", "hub:3"], "collectives": ["allgather", "allreduce", "broadcast"], "groups": ["all"], "roots": [0, 1],
                                            "bytes": [4096], "max_chunks": 2, "conflicts": 1000}))
done = run(chorale, "library", "build", "spec.json", "-o", "genuine.db")
assert done.returncode == 0, done
with sqlite3.connect(work / "genuine.db") as file:
    file.execute("INSERT INTO measured SELECT key, 'mpi', 0, 1024, 2.5, 2, 3, 60 FROM answers")
    TABLES = {"answers": ["key", "question", "answer", "numbering"], "predicted": ["key", "bytes", "point", "us", "least_us"],
              "places": ["machine", "grp", "collective", "ranks", "root", "key", "hosts", "members", "numbering"],
              "measured": ["key", "over", "point", "bytes", "median_us", "least_us", "most_us", "times"]}
RESULTS = []
for i, words in enumerate((["frontier", "hub:3", "allreduce", "--max-chunks", 2], ["frontier", "ring:4", "broadcast", "--min-chunks", 3, "--max-chunks", 4],
                           ["classic", "ring_allreduce", "ring:4"])):
    assert run(chorale, *words, "--json", f"genuine{i}.json").returncode in (0, 3)
    RESULTS.append((work / f"genuine{i}.json").read_bytes())
ODD = [0, -1, 1, 2, 2 ** 31 - 1, 2 ** 31, -2 ** 31, 2 ** 63 - 1, -2 ** 63, 1e308, -1e308, 1e-320, 0.5, None, True, "", "x", "\x00", "\udcff", "9" * 400, "../../x", [], {}, [[]],
       "0 1 2 3", "allgather", 999_999, 1_000_000]


def bytes_damaged(data):
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 8, 64])):
        at = dice.randrange(max(1, len(data)))
        kind = dice.choice(["bit", "byte", "cut", "zeros", "more", "copy"])
        if kind == "bit":
            data[at:at + 1] = bytes([data[at] ^ 1 << dice.randrange(8)]) if at < len(data) else b""
        elif kind == "byte":
            data[at:at + 1] = bytes([dice.randrange(256)])
        elif kind == "cut":
            del data[at:at + dice.choice([1, 10, 5000])]
        elif kind == "zeros":
            data[at:at + 20] = bytes(20)
        elif kind == "more":
            data[at:at] = dice.randbytes(dice.choice([1, 30]))
        else:
            data[at:at] = data[at // 2:at // 2 + 30]
    return bytes(data)


def value_damaged(text):
    """JSON with some of its values others."""
    value = json.loads(text)
    for _ in range(dice.choice([1, 1, 1, 3])):
        holder, key = {"": value}, ""
        while isinstance(holder[key], (dict, list)) and holder[key] and dice.random() < 0.9:
            holder = holder[key]
            key = dice.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        holder[key] = dice.choice(ODD)
        if not isinstance(value, dict) or not value:
            break
    return json.dumps(value).encode()


def cell(file, column=None):
    """A row and column of some table."""
    table = dice.choice(list(TABLES)) if column is None else "answers"
    column = column or dice.choice(TABLES[table])
    rowid, value = dice.choice(file.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
    return f"UPDATE {table} SET {column} = ? WHERE rowid = {rowid}", value


def cells_damaged(path):
    with sqlite3.connect(path) as file:
        for _ in range(dice.choice([1, 2, 5])):
            sql, value = cell(file)
            new = dice.choice([each for each in ODD if not isinstance(each, (list, dict)) and each != "\udcff"] + [dice.randbytes(30)])
            if isinstance(value, bytes) and dice.random() < 0.8:
                new = packed(bytes_damaged(unpacked(value)))
            try:
                file.execute(sql, (new,))
            except (sqlite3.IntegrityError, OverflowError):
                pass
    file.close()


def answers_damaged(path):
    """Texts that are what they should be, but for values."""
    with sqlite3.connect(path) as file:
        for column in dice.choice([["answer"], ["answer"], ["numbering"], ["answer", "numbering"]]):
            sql, value = cell(file, column)
            file.execute(sql, (packed(value_damaged(unpacked(value))),))
    file.close()


PYTHON = """
import sys, chorale
ended = 0
for path in sys.argv[1:]:
    for job in (lambda l: l.verify(conflicts=1000), lambda l: l.places(), lambda l: l.select("ring:4", "allgather", 4096),
                lambda l: l.select("hub:3", "allreduce", 4096, ranks=[2, 0, 1]), lambda l: l.find("ring:4", "allgather", max_chunks=2, conflicts=1000)):
        try:
            job(chorale.library.open(path))
        except chorale.InputError:
            ended += 1
print(ended)
"""
codes, faults = collections.Counter(), []


def expect(kind, number, command, allowed=(0, 2, 3, 20)):
    try:
        done = run(*command)
    except subprocess.TimeoutExpired:
        faults.append(f"{kind} {number}: {command[1:]}: more than {SECONDS} s")
        return
    codes[done.returncode] += 1
    lines = done.stderr.strip().splitlines()
    if done.returncode not in allowed:
        faults.append(f"{kind} {number}: {command[1:]}: exit code {done.returncode}: {done.stderr[-300:]}")
    elif done.returncode == 2 and not {"verify", "--all"} & set(map(str, command)) and (len(lines) != 1 or not lines[0].startswith("chorale: error: ") or len(lines[0]) > 2000):
        faults.append(f"{kind} {number}: {command[1:]}: {len(lines)} lines where it refuses: {done.stderr[:300]}")


for kind in ("bytes", "cells", "answers"):
    for number in range(count):
        path = work / "damaged.db"
        shutil.copy(work / "genuine.db", path)
        if kind == "bytes":
            path.write_bytes(bytes_damaged(path.read_bytes()))
        else:
            (cells_damaged if kind == "cells" else answers_damaged)(path)
        shutil.copy(path, work / f"{kind}{number}.db")
        for command in (["library", "verify", "damaged.db", "--conflicts", 1000], ["library", "show", "damaged.db"],
                        ["library", "select", "damaged.db", "ring:4", dice.choice(["allgather", "allreduce"]), "--bytes", "1K:1M:32"],
                        ["library", "select", "damaged.db", "hub:3", "broadcast", "--root", 1, "--ranks", "1,2,0"],
                        ["frontier", "hub:3", "allreduce", "--max-chunks", 2, "--conflicts", 1000, "--library", "damaged.db"]):
            expect(kind, number, [chorale, *command])
            assert not list(work.glob("*.part*")), (kind, number, command)
for kind, damage in (("result bytes", bytes_damaged), ("result values", value_damaged)):
    for number in range(2 * count):
        (work / "damaged.json").write_bytes(damage(dice.choice(RESULTS)))
        expect(kind, number, [chorale, *dice.choice([["check", "damaged.json", "--conflicts", 1000, "--time-limit", "20s"], ["show", "damaged.json"],
                                                     ["check", "damaged.json", "--conflicts", 0, "--all"]])], (0, 2, 3))
if "--python" in sys.argv:
    done = run(sys.executable, "-c", PYTHON, *(f"{kind}{number}.db" for kind in ("bytes", "cells", "answers") for number in range(count)))
    if done.returncode != 0:
        faults.append(f"Python: exit code {done.returncode}: {done.stderr[-600:]}")
    print(f"Python: {done.stdout.strip()} of {15 * count} refused")
for fault in faults[:30]:
    print("FAULT", fault)
print(f"{sum(codes.values())} runs, " + ", ".join(f"{number} with exit code {code}" for code, number in sorted(codes.items())) + f"; {len(faults)} faults")
sys.exit(1 if faults else 0)
