#!/usr/bin/env python3
"""The emitted CUDA directories: their kernel runs on threads of the CPU, also under ThreadSanitizer, with every element checked.
tests/benchmarks/compile.py compiles them with nvcc.

Usage: cuda.py CHORALE FLAGS, the folder of tests/scripts/emitted.cmake.
"""
import os
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, work  # noqa: E402

chorale, emitted_flags = (str(pathlib.Path(each).resolve()) for each in sys.argv[1:3])
os.environ["TSAN_OPTIONS"] = "halt_on_error=1 exitcode=66"


def emitted(name, *command):
    run(chorale, *command, "--json", f"{name}.json")
    (work / name).mkdir()
    written = run(chorale, "emit", f"{name}.json", "--target", "cuda", "-o", str(work / name)).split()
    return [pathlib.Path(path) for path in written]


def made(directory, target, *defines, plain=False):
    """Once as the Makefile has it; then quickly, with the flags of tests/scripts/emitted.cmake behind it."""
    quick = [] if plain else [f"@{emitted_flags}/{'races' if target == 'races' else 'quick'}20"]
    (directory / f"virtual_ranks_{target}").unlink(missing_ok=True)
    run("make", target, f"DEFINES={' '.join([*quick, *defines])}", cwd=directory)


def checked(directory, *options):
    """Rows that the program printed; all of them right."""
    text = run(f"./{options[0]}", *options[1:], cwd=directory)
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    assert rows and all(len(row) == 7 and row[-1] == "0" for row in rows), text
    return len(rows)


directories = (emitted("ring", "classic", "ring_allreduce", "ring:4")
               + emitted("direct", "classic", "direct_allreduce", "full:4")
               + emitted("tree", "classic", "binomial_broadcast", "full:5")
               + emitted("alltoall", "classic", "direct_alltoall", "full:3")
               + emitted("frontier", "frontier", "dgx1", "reducescatter", "--max-chunks", "1"))
rows = 0
for directory in directories:
    made(directory, "cpu", plain=directory == directories[0])
    # From nothing to more than a segment, with segments and slices that cut it anyhow; many launches in a row.
    rows += checked(directory, "virtual_ranks_cpu", "-b", "1", "-e", "1M", "-f", "37", "-n", "20")
    rows += checked(directory, "virtual_ranks_cpu", "-b", "4", "-e", "300K", "-f", "13", "-n", "5", "-s", "3", "-t", "2", "-g", "8K")
ring = directories[0]
for directory in (directories[0], directories[2], directories[-1]):  # a ring, a tree, a synthesized one
    made(directory, "cpu", "-DIN_PLACE")
    rows += checked(directory, "virtual_ranks_cpu", "-b", "1", "-e", "300K", "-f", "29", "-n", "9", "-s", "2", "-g", "8K")
for element, others in [("chorale::Bfloat16", "-DREDUCTION=Max"), ("chorale::Float16", "-DWIDEN"), ("std::int8_t", ""), ("double", "-DREDUCTION=Prod")]:
    made(ring, "cpu", f"-DELEMENT={element}", others)
    rows += checked(ring, "virtual_ranks_cpu", "-b", "1", "-e", "64K", "-f", "41", "-n", "3", "-s", "2")
for directory in directories[:2]:
    made(directory, "races", plain=directory == directories[0])
    rows += checked(directory, "virtual_ranks_races", "-b", "4", "-e", "32K", "-f", "64", "-n", "3", "-s", "2", "-t", "2", "-g", "4K")

# In 3 steps and 3/2 rounds per chunk ranks of this ring add up in orders of their own: wrong, if they were to agree.
free = emitted("free", "frontier", "ring:6", "allreduce", "--max-chunks", "2", "--allow-disagreement")[0]
made(free, "cpu")
rows += checked(free, "virtual_ranks_cpu", "-b", "4K", "-e", "16K", "-n", "2")
text = (free / "out_of_place.h").read_text()
(free / "out_of_place.h").write_text(text.replace("kAgreed = false;", "kAgreed = true;"))
made(free, "cpu")
assert re.search(r"^[1-9]\d* wrong elements", run("./virtual_ranks_cpu", "-b", "4K", "-e", "16K", "-n", "2", code=1, cwd=free).stderr)

# The multimem variant goes with all-pairs AllReduces only.
assert (directories[1] / "multimem.cu").exists() and not (ring / "multimem.cu").exists()
assert "kOwners[] = {0, 1, 2, 3}" in (directories[1] / "out_of_place.h").read_text()

# A wait that is for too much is named; one that is left out is noticed by ThreadSanitizer.
table = (ring / "out_of_place.h").read_text()
wait = re.search(r"\{2, 1, 0, \d+, 0, 0, 3, 0, 1, 1, 0, -1\}", table)[0]
(ring / "out_of_place.h").write_text(table.replace(wait, wait.replace("1, 1, 0, -1}", "9, 1, 0, -1}"), 1))
made(ring, "cpu")
hang = run("./virtual_ranks_cpu", "-b", "4", "-e", "4", "-p", "0.3", code=3, cwd=ring).stderr
assert re.search(r"rank \d, slice 0, instruction \d+: rank \d did not raise counter \d+ to \d+ within 0.3 s", hang), hang
(ring / "out_of_place.h").write_text(table.replace(wait, "{3, 1, 0, 0, 0, 0, -1, -1, 1, 0, 0, -1}", 1))
made(ring, "races")
assert run("./virtual_ranks_races", "-b", "4K", "-e", "4K", code=None, cwd=ring).returncode in (1, 66)
(ring / "out_of_place.h").write_text(table)

# Wrong options.
for options in (["-b", "x"], ["-q"], ["-b", "1T"]):
    assert run("./virtual_ranks_cpu", *options, code=2, cwd=ring).stderr

print(f"{len(directories)} algorithms, {rows} sizes run on threads, 0 wrong")
