#!/usr/bin/env python3
"""Every function that a header declares has a caller in the product: what only tests and benchmarks call is no product.

Usage: callers.py SOURCE_DIRECTORY. By names, so a function whose name another one shares is not seen.
"""
import collections
import pathlib
import re
import sys

# What is for others, and what judges in tests alone.
FOR_OTHERS = {"api/chorale_c.h", "preload/include/chorale/mpi.h", "preload/include/chorale/nccl.h"}
FOR_TESTS = {"is_undirected", "wrong_in_free_run", "time_of_order", "is_inner", "depths_of",
             "all_strategies", "count_strategies"}

source = pathlib.Path(sys.argv[1])
files = [path for room in sorted(source.iterdir()) if room.is_dir() and room.name not in ("build", "tests", "benchmarks", "docs", ".git")
         for path in sorted(room.rglob("*")) if path.suffix in (".h", ".cpp", ".cu", ".c", ".py", ".in", ".cmake")]
texts = {path: re.sub(r"//[^\n]*", "", path.read_text()) for path in [*files, source / "CMakeLists.txt"]}
named = collections.defaultdict(collections.Counter)  # name -> file -> times
for path, text in texts.items():
    for word in re.findall(r"[A-Za-z_]\w+", text):
        named[word][path] += 1

alone, declared = [], 0
for path in files:
    if path.suffix != ".h" or str(path.relative_to(source)) in FOR_OTHERS:
        continue
    for name in re.findall(r"^ {0,2}(?! |return)[\w:<>,&* ]+?[ &*>](\w+)\([^;{}]*\)(?: const)?;", texts[path], re.M):
        declared += 1
        others = {file: times for file, times in named[name].items() if file != path}
        if named[name][path] == 1 and sum(others.values()) <= 1 and name not in FOR_TESTS:
            alone.append(f"{path.relative_to(source)}: {name} has no caller")
print("\n".join(alone))
print(f"{declared} functions of headers, {len(alone)} without a caller")
sys.exit(1 if alone or declared < 1000 else 0)
