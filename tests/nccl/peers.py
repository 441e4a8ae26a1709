#!/usr/bin/env python3
"""The emitted programs for GPUs (peers.cu, multimem.cu, and virtual_ranks.cu for one GPU), compiled as they are against stand-ins for CUDA, NCCL's device interface and
MPI, under ThreadSanitizer: one node, several nodes, every rank a node of its own. A signal that comes before its data must be seen.

Usage: peers.py CHORALE CXX SHIMS, the folder that has shim/ and shim_mpi/, FLAGS, that of tests/scripts/emitted.cmake.
"""
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, work  # noqa: E402

chorale, cxx, shims, ready = sys.argv[1:5]
chorale, shims, ready = (pathlib.Path(each).absolute() for each in (chorale, shims, ready))
warned = ["-Wall", "-Wextra", "-Werror", f"-I{shims / 'shim'}"]


def emitted(name, *command):
    run(chorale, *command, "--json", f"{name}.json")
    (work / name).mkdir()
    return work / run(chorale, "emit", f"{name}.json", "--target", "cuda", "-o", work / name).stdout.splitlines()[-1]


def compiled(directory, *defines, program="peers", flags=(f"@{ready}/races20",)):
    run(cxx, "-x", "c++", *flags, *warned, *defines, f"-I{directory}", f"-I{shims / 'shim_mpi'}", directory / f"{program}.cu", "-x", "none",
        *(ready / f"{name}_races.o" for name in ["shim", "device"]), "-o", directory / f"{program}_cpu")


def execute(directory, ranks, node, sizes, code=0, program="peers", **more):
    environment = {"CHORALE_SHIM_RANKS": str(ranks), "CHORALE_SHIM_NODE": str(node), "TSAN_OPTIONS": "halt_on_error=1 exitcode=66", **more}
    return run(directory / f"{program}_cpu", "-f", 16, "-n", 3, "-s", 2, "-t", 2, "-p", 100, *sizes, code=code, env=environment)


def right(text):
    found = re.findall(r"^ +(\d+) +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +(?:[\d.]+ +)?(\d+)$", text, re.M)
    assert len(found) == 3 and all(wrong == "0" for _, wrong in found), text
    return len(found)


rows, algorithms = 0, [
    ("direct", 4, ["classic", "direct_allreduce", "full:4"], []),
    ("ring", 4, ["classic", "ring_allreduce", "full:4"], ["-DIN_PLACE", "-DELEMENT=chorale::Float16", "-DREDUCTION=Max"]),
    ("gather", 4, ["frontier", "ring:4", "allgather", "--max-chunks", "2"], ["-DELEMENT=std::int8_t"]),
    ("tree", 6, ["classic", "tree_broadcast", "full:6"], []),
]
for name, ranks, command, defines in algorithms:
    directory = emitted(name, *command)
    compiled(directory, *defines, **({"flags": ["-std=c++20", "-O1", "-fsanitize=thread", "-pthread"]} if name == "direct" else {}))
    for node in [ranks, 2, 1]:
        rows += right(execute(directory, ranks, node, ["-b", 64, "-e", "64K", "-g", "8K"]).stdout)

direct, ring = (next(work.glob(f"{name}/*.cuda")) for name in ["direct", "ring"])


def faulty(*arguments, **more):
    """Are elements wrong, or a race seen? Not always the first time."""
    return any(execute(*arguments, code=None, **more).returncode in (1, 66) for _ in range(8))


assert faulty(direct, 4, 2, ["-b", "64", "-e", "64K"], CHORALE_SHIM_EARLY_SIGNALS="1")
# A wait for this launch that is left out.
table = (direct / "out_of_place.h").read_text()
wait = re.search(r"\{2, (-?\d+, ){9}0, -1\}", table)[0]
(direct / "out_of_place.h").write_text(table.replace(wait, wait.replace("{2,", "{3,"), 1))
compiled(direct)
assert faulty(direct, 4, 1, ["-b", "64K", "-e", "64K"])
# Where the switch adds: all ranks on one.
(direct / "out_of_place.h").write_text(table)
shutil.copy(shims / "shim_switch/switch.h", direct)
for defines in [], ["-DELEMENT=chorale::Bfloat16"]:
    compiled(direct, *defines, program="multimem")
    rows += right(execute(direct, 4, 4, ["-b", 64, "-e", "64K"], program="multimem").stdout)
assert "not all GPUs are on one switch" in execute(direct, 4, 2, ["-b", 64, "-e", 64], code=2, program="multimem").stderr

# All ranks on one GPU.
for defines in [], ["-DELEMENT=chorale::Float16", "-DWIDEN"]:
    compiled(ring, "-DCHORALE_GPU", *defines, program="virtual_ranks")
    text = execute(ring, 1, 1, ["-b", 64, "-e", "64K", "-g", "8K"], program="virtual_ranks").stdout
    assert "4 virtual ranks on a stand-in for a GPU" in text, text
    rows += right(text)

# It says what it cannot do.
assert "needs 4 ranks: mpirun -n 4" in execute(ring, 3, 3, ["-b", 64, "-e", 64], code=2).stderr
assert "cannot all be resident: use -s" in execute(ring, 4, 4, ["-s", 200], code=2).stderr
print(f"{len(algorithms)} algorithms, {rows} sizes on one node, on several, by a switch and on one GPU, 0 wrong, no race; two faults were seen")
