#!/usr/bin/env python3
"""The emitted CUDA directories: their kernel runs on threads of the CPU, also under ThreadSanitizer, with
every element checked. tests/benchmarks/compile.py compiles them with nvcc.

Usage: cuda.py CHORALE FLAGS, the folder of tests/scripts/emitted.cmake.
"""
import os
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.merged import merged_directories  # noqa: E402
from kit.program import run, work  # noqa: E402

chorale, emitted_flags = (str(pathlib.Path(each).resolve()) for each in sys.argv[1:3])
os.environ["TSAN_OPTIONS"] = "halt_on_error=1 exitcode=66"


def emitted(name, *command):
    run(chorale, *command, "--json", f"{name}.json")
    (work / name).mkdir()
    written = run(chorale, "emit", f"{name}.json", "--target", "cuda", "-o", str(work / name)).split()
    return [pathlib.Path(path) for path in written]


def checked(program, *options):
    """Rows that the program printed; all of them right."""
    text = run(*program, *options)
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    assert rows and all(len(row) == 7 and row[-1] == "0" for row in rows), text
    return len(rows)


def changed(name, directory, old, new):
    """The directory with other tables."""
    shutil.copytree(directory, work / name)
    text = (directory / "out_of_place.h").read_text()
    assert old in text, old
    (work / name / "out_of_place.h").write_text(text.replace(old, new, 1))
    return work / name


def compiled(kind, programs):
    """All as one (tests/kit/merged.py): for each, the command that runs it."""
    (work / f"{kind}.cpp").write_text(merged_directories([(*each, "virtual_ranks.cu") for each in programs]))
    run("g++", f"@{emitted_flags}/{kind}20", "-Wall", "-Wextra", "-Werror", f"-I{programs[0][0]}", f"{kind}.cpp", "-o", kind)
    return [[work / kind, number] for number in range(len(programs))]


directories = (emitted("ring", "classic", "ring_allreduce", "ring:4")
               + emitted("direct", "classic", "direct_allreduce", "full:4")
               + emitted("tree", "classic", "binomial_broadcast", "full:5")
               + emitted("alltoall", "classic", "direct_alltoall", "full:3")
               + emitted("frontier", "frontier", "dgx1", "reducescatter", "--max-chunks", "1"))
# What receivers load: of one step for all, handed on along a ring and a tree, by the rates of the machine.
pulled = [emitted(f"pulled{n}", *command)[0] for n, command in enumerate([["classic", "direct_allreduce", "rtx-pro-6000:1x4"], ["classic", "ring_allreduce", "rtx-pro-6000:2x2"],
                                                                          ["classic", "binomial_broadcast", "rtx-pro-6000:1x5"]])]
assert all("kLoadsFromPeers = true" in (each / "out_of_place.h").read_text() for each in pulled)
assert "kLoadsFromPeers = false" in (directories[0] / "out_of_place.h").read_text()
directories += pulled
ring = directories[0]
# Sums and copies that switches make: of one step, of owners on a switch that delivers less, of an odd number.
able = ["--switches-multicast", "--switches-reduce", "--max-chunks"]
switched = (emitted("hub", "frontier", "hub:4", "allreduce", *able, "4") + emitted("hub5", "frontier", "hub:5", "reducescatter", *able, "2")
            + emitted("hub3", "frontier", "hub:3", "broadcast", *able, "2")
            + emitted("h100", "classic", "direct_allreduce", "dgx-h100:1"))
assert all("kTeams[] = {\n    {0, " in (each / "out_of_place.h").read_text() for each in switched)
# In 3 steps and 3/2 rounds per chunk ranks of this ring add up in orders of their own: wrong, if they were to
# agree.
free = emitted("free", "frontier", "ring:6", "allreduce", "--max-chunks", "2", "--allow-disagreement")[0]
agreed = changed("agreed", free, "kAgreed = false;", "kAgreed = true;")
# A wait that is for too much, and one that is left out.
wait = re.search(r"\{2, 1, 0, \d+, 0, 0, 3, 0, 1, 1, 0, -1\}", (ring / "out_of_place.h").read_text())[0]
hanging = changed("hanging", ring, wait, wait.replace("1, 1, 0, -1}", "9, 1, 0, -1}"))
racing = changed("racing", ring, wait, "{3, 1, 0, 0, 0, 0, -1, -1, 1, 0, 0, -1}")
in_place = [directories[0], directories[2], directories[4], *pulled[:2]]  # a ring, a tree, a synthesized one, and what is loaded
TYPES = (["ELEMENT=chorale::Bfloat16", "REDUCTION=Max"], ["ELEMENT=chorale::Float16", "WIDEN"], ["ELEMENT=std::int8_t"], ["ELEMENT=double", "REDUCTION=Prod"])
programs = compiled("quick", [(each, []) for each in [*directories, free, agreed, hanging]] + [(each, ["IN_PLACE"]) for each in in_place + switched]
                    + [(each, macros) for each in (ring, switched[0]) for macros in TYPES] + [(each, []) for each in switched])
by_switch, programs = programs[-len(switched):], programs[:-len(switched)]
typed, programs = programs[-2 * len(TYPES):], programs[:-2 * len(TYPES)]
placed, programs = programs[-len(in_place + switched):], programs[:-len(in_place + switched)]
*plain, on_free, on_agreed, on_hanging = programs
# One as its Makefile has it.
for target in ("cpu", "races"):
    run("make", target, cwd=ring)
alone = ring / "virtual_ranks_cpu"

rows = 0
for program in [[alone], *plain, *by_switch]:
    # From nothing to more than a segment, with segments and slices that cut it anyhow; many launches in a
    # row.
    rows += checked(program, "-b", "1", "-e", "1M", "-f", "37", "-n", "20")
    rows += checked(program, "-b", "4", "-e", "300K", "-f", "13", "-n", "5", "-s", "3", "-t", "2", "-g", "8K")
for program in placed:
    rows += checked(program, "-b", "1", "-e", "300K", "-f", "29", "-n", "9", "-s", "2", "-g", "8K")
for program in typed:
    rows += checked(program, "-b", "1", "-e", "64K", "-f", "41", "-n", "3", "-s", "2")
rows += checked(on_free, "-b", "4K", "-e", "16K", "-n", "2")
assert re.search(r"^[1-9]\d* wrong elements", run(*on_agreed, "-b", "4K", "-e", "16K", "-n", "2", code=1).stderr)

# The wait for too much is named; the one that is left out is noticed by ThreadSanitizer.
hang = run(*on_hanging, "-b", "4", "-e", "4", "-p", "0.3", code=3).stderr
assert re.search(r"rank \d, slice 0, instruction \d+: rank \d did not raise counter \d+ to \d+ within 0.3 s", hang), hang
rows += checked(plain[0], "-b", "4", "-e", "4", "-p", "0")  # for as long as it takes
# What is loaded before it is known to be there.
awaited = re.search(r"\{2, 1, 0, \d+, 0, 0, \d, \d+, 1, 1, 0, -1\}", (pulled[0] / "out_of_place.h").read_text())[0]
early = changed("early", pulled[0], awaited, "{3, 1, 0, 0, 0, 0, -1, -1, 1, 0, 0, -1}")
direct, loading, handing, *by_switch, on_racing, on_early = compiled("races", [(directories[1], []), *((each, []) for each in [*pulled[:2], *switched]), (racing, []), (early, [])])
for program in [[ring / "virtual_ranks_races"], direct, loading, handing, *by_switch]:
    rows += checked(program, "-b", "4", "-e", "32K", "-f", "64", "-n", "3", "-s", "2", "-t", "2", "-g", "4K")
for program in (on_racing, on_early):
    run(*program, "-b", "4K", "-e", "4K", code=(1, 66))

# Wrong options.
for options in (["-b", "x"], ["-q"], ["-b", "1T"], ["-p", "x"], ["-p", "-1"], ["-p", "nan"], ["-p", "1e30"]):
    assert run(alone, *options, code=2).stderr

print(f"{len(directories)} algorithms and {len(switched)} by switches, {rows} sizes run on threads, 0 wrong")
