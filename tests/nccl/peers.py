#!/usr/bin/env python3
"""The emitted programs for GPUs (peers.cu, also with sums and copies by a switch, and virtual_ranks.cu for one GPU), compiled as they
are against stand-ins for CUDA, NCCL's device interface and MPI, all but one as one (tests/kit/merged.py),
under ThreadSanitizer: one node, several nodes, every rank a node of its own. A signal that comes before its
data must be seen.

Usage: peers.py CHORALE CXX SHIMS, the folder that has shim/ and shim_mpi/, FLAGS, that of tests/scripts/emitted.cmake.
"""
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.merged import merged_directories  # noqa: E402
from kit.program import run, work  # noqa: E402

chorale, cxx, shims, ready = sys.argv[1:5]
chorale, shims, ready = (pathlib.Path(each).absolute() for each in (chorale, shims, ready))
warned = ["-Wall", "-Wextra", "-Werror", f"-I{shims / 'shim'}"]


def emitted(name, *command):
    run(chorale, *command, "--json", f"{name}.json")
    (work / name).mkdir()
    return work / run(chorale, "emit", f"{name}.json", "--target", "cuda", "-o", work / name).splitlines()[-1]


def compiled(source, *options):
    run(cxx, "-x", "c++", f"@{ready}/races20", *warned, *options, f"-I{shims / 'shim_mpi'}", "-include", shims / "shim_switch/multimem.h", source, "-x", "none",
        *(ready / f"{name}_races.o" for name in ["shim", "device"]), "-o", source.with_suffix(""))
    return source.with_suffix("")


def execute(program, ranks, node, sizes, code=0, **more):
    environment = {"CHORALE_SHIM_RANKS": str(ranks), "CHORALE_SHIM_NODE": str(node), "TSAN_OPTIONS": "halt_on_error=1 exitcode=66", **more}
    return run(*program, "-f", 16, "-n", 3, "-s", 2, "-t", 2, "-p", 100, *sizes, code=code, env=environment)


def right(text):
    found = re.findall(r"^ +(\d+) +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +(?:[\d.]+ +)?(\d+)$", text, re.M)
    assert len(found) == 3 and all(wrong == "0" for _, wrong in found), text
    return len(found)


ABLE = ["--switches-multicast", "--switches-reduce"]
algorithms = [
    ("direct", 4, ["classic", "direct_allreduce", "full:4"], []),
    ("ring", 4, ["classic", "ring_allreduce", "full:4"], ["IN_PLACE", "ELEMENT=chorale::Float16", "REDUCTION=Max"]),
    ("gather", 4, ["frontier", "ring:4", "allgather", "--max-chunks", "2"], ["ELEMENT=std::int8_t"]),
    ("tree", 6, ["classic", "tree_broadcast", "full:6"], []),
    # By switches: hub:4 has one for all, dgx-h100:2 one in each node.
    ("sums", 4, ["frontier", "hub:4", "allreduce", *ABLE, "--max-chunks", "4", "--max-steps", "3"], []),
    ("copies", 4, ["frontier", "hub:4", "allgather", *ABLE, "--max-chunks", "1"], ["ELEMENT=std::uint8_t"]),
    ("owned", 4, ["frontier", "hub:4", "reducescatter", *ABLE, "--max-chunks", "1"], ["REDUCTION=Max", "ELEMENT=std::int64_t"]),
]
BY_SWITCH = [("sums", macros) for macros in ([], ["ELEMENT=chorale::Bfloat16"], ["ELEMENT=chorale::Float16", "IN_PLACE"], ["ELEMENT=double"],
                                             ["ELEMENT=std::uint32_t", "REDUCTION=Min"])] + [
    ("copies", ["ELEMENT=std::int8_t"]), ("owned", ["IN_PLACE"]), ("owned", ["ELEMENT=std::int64_t", "REDUCTION=Max"])]
BY_SWITCHES = {name for name, _ in BY_SWITCH}
at = {name: emitted(name, *command) for name, _, command, _ in algorithms}
# A wait for this launch that is left out.
shutil.copytree(at["direct"], work / "changed")
table = (at["direct"] / "out_of_place.h").read_text()
wait = re.search(r"\{2, (-?\d+, ){9}0, -1\}", table)[0]
(work / "changed/out_of_place.h").write_text(table.replace(wait, wait.replace("{2,", "{3,"), 1))
HALF = "ELEMENT=chorale::Float16"
sources = {name: (at[name], macros, "peers.cu") for name, _, _, macros in algorithms if name != "direct"} | {
    "changed": (work / "changed", [], "peers.cu")} | {
    f"{name} by switch {macros}": (at[name], ["MULTIMEM", *macros], "peers.cu") for name, macros in BY_SWITCH} | {
    "one GPU": (at["ring"], ["CHORALE_GPU"], "virtual_ranks.cu"), "one GPU, widened": (at["ring"], ["CHORALE_GPU", HALF, "WIDEN"], "virtual_ranks.cu")}
(work / "all.cu").write_text(merged_directories(sources.values()))
together = compiled(work / "all.cu", f"-I{at['ring']}")
programs = {name: (together, number) for number, name in enumerate(sources)}
# One as it is.
programs["direct"] = (compiled(at["direct"] / "peers.cu", f"-I{at['direct']}"),)

rows = 0
for name, ranks, _, _ in algorithms:
    for node in [ranks, 2, 1] if name in ("direct", "ring") else [ranks] if name in BY_SWITCHES else [2]:
        rows += right(execute(programs[name], ranks, node, ["-b", 64, "-e", "64K", "-g", "8K"]))


def faulty(*arguments, **more):
    """Are elements wrong, or a race seen? Not always the first time."""
    return any(execute(*arguments, code=None, **more).returncode in (1, 66) for _ in range(8))


assert faulty(programs["direct"], 4, 2, ["-b", "64", "-e", "64K"], CHORALE_SHIM_EARLY_SIGNALS="1")
assert faulty(programs["changed"], 4, 1, ["-b", "64K", "-e", "64K"])
# All ranks on one switch.
for name in programs:
    if "by switch" in name:
        rows += right(execute(programs[name], 4, 4, ["-b", 64, "-e", "64K", "-g", "8K"]))
        assert "are on several nodes" in execute(programs[name], 4, 2, ["-b", 64, "-e", 64], code=2).stderr

# All ranks on one GPU.
for name in "one GPU", "one GPU, widened":
    text = execute(programs[name], 1, 1, ["-b", 64, "-e", "64K", "-g", "8K"])
    assert "4 virtual ranks on a stand-in for a GPU" in text, text
    rows += right(text)

# It says what it cannot do, and a compiler which elements a switch does not add.
for refused in (["ELEMENT=std::int8_t"], ["REDUCTION=Prod"], ["ELEMENT=chorale::Float16", "REDUCTION=Max"]):
    said = run(cxx, "-x", "c++", "-std=c++20", "-fsyntax-only", f"-I{shims / 'shim'}", f"-I{shims / 'shim_mpi'}", f"-I{at['sums']}", "-include",
               shims / "shim_switch/multimem.h", "-DMULTIMEM", *(f"-D{macro}" for macro in refused), at["sums"] / "peers.cu", code=1).stderr
    assert "a switch does not combine these elements so" in said and "--switches-forward-only" in said, said
assert "needs 4 ranks: mpirun -n 4" in execute(programs["ring"], 3, 3, ["-b", 64, "-e", 64], code=2).stderr
assert "cannot all be resident: use -s" in execute(programs["ring"], 4, 4, ["-s", 200], code=2).stderr
print(f"{len(algorithms)} algorithms, {rows} sizes on one node, on several, by a switch and on one GPU, 0 wrong, no race; two faults were seen")
