#!/usr/bin/env python3
"""Alltoallv planned when it is called, in an unmodified program and by the library: every element checked by
the program, on nodes of any size, with counts of every kind, types that are not dense, in place, in parts of
the ranks. Rates are low, so that a plan is worth its time for few bytes.

Usage: alltoallv.py PRELOAD LIBRARY INCLUDE MPICC SOURCE
"""
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, run, work  # noqa: E402

preload, library, include, mpicc, source = [str(pathlib.Path(a).absolute()) if "/" in a else a for a in sys.argv[1:6]]
run(mpicc, "-O1", "-std=c11", source, "-o", "plain")
run(mpicc, "-O1", "-std=c11", "-DLIBRARY", f"-I{include}", source, library, f"-Wl,-rpath,{pathlib.Path(library).parent}", "-o", "calls")
SLOW = "nic=1e-6,node=1e-5"


def on(hosts, program, rates=SLOW, seed=1, code=0, ours=True):
    """The log and the output of the program with rank n on host hosts[n]."""
    cases = " ".join(f"{rank}) CHORALE_HOST={host};;" for rank, host in enumerate(hosts))
    loaded = ["-x", f"LD_PRELOAD={preload}", "-x", "CHORALE_LOG=1"] if ours and program == "./plain" else []
    done = mpirun(len(hosts), *loaded, *(["-x", f"CHORALE_NODES={rates}"] if rates is not None else []), "sh", "-c",
                  f"case $OMPI_COMM_WORLD_RANK in {cases} esac; export CHORALE_HOST; exec {program} {seed}", code=code)
    assert code or done.stdout.endswith("right\n"), done
    return done.stderr, done.stdout


def used(log):
    return tuple(map(int, re.search(r"(\d+) collectives by Chorale's algorithms, (\d+) passed on", log).groups()))


on("ab", "./plain", ours=False)  # the program itself is right
seed, planned = 1, 0
for hosts in ["aabb", "aaabbc", "abcab", "aaaa", "abcdef", "ab"]:
    for nics in ["", ",nics=1", ",nics=2"] if hosts in ("aabb", "aaabbc") else [""]:
        seed += 1
        log, _ = on(hosts, "./plain", SLOW + nics, seed)
        ours, passed = used(log)
        planned += ours
        # Alone on a host, no rank has another whose NIC could help it; a single host has none.
        # Nor is there anything to spread where all ranks of a node share a NIC.
        assert (ours > 10) == (hosts not in ("aaaa", "abcdef", "ab") and nics != ",nics=1"), (hosts, nics, log)
        assert ours == 0 or re.search(r"MPI_Alltoallv, \d ranks.*: planned by its counts", log), log
_, said = on("aabb", "./calls")
assert "4 ranks planned the last call" in said, said

# With the rates of a real network these few bytes are not worth a plan; without rates, nothing is.
assert "direct sends are predicted to be the fastest" in on("aabb", "./plain", "")[0] + on("aabb", "./plain", "nic=50")[0]
log, _ = on("aabb", "./plain", None)
assert used(log)[0] == 0 and "CHORALE_NODES" in log, log
assert "0 ranks planned" in on("aabb", "./calls", None)[1]
# Ranks with different rates: MPI does it, and none waits.
done = mpirun(4, "-x", f"LD_PRELOAD={preload}", "-x", "CHORALE_LOG=1", "sh", "-c",
              "[ $OMPI_COMM_WORLD_RANK = 2 ] || export CHORALE_NODES=nic=1; exec ./plain")
assert done.stdout == "right\n" and used(done.stderr)[0] == 0 and "rates" in done.stderr, done
# Wrong rates do not end the program: one rank prints why, and MPI does it. In one rank alone, too.
for wrong in ("speed=1", "nic=", "nic=50,node", "nic=0", "nic=50;node=450", "50"):
    log, _ = on("aabb", "./plain", wrong)
    assert len(re.findall(r"^chorale: CHORALE_NODES: .*: MPI does MPI_Alltoallv$", log, re.M)) == 1 and used(log)[0] == 0, (wrong, log)
done = mpirun(4, "-x", f"LD_PRELOAD={preload}", "-x", "CHORALE_LOG=1", "sh", "-c",
              f"export CHORALE_NODES={SLOW}; [ $OMPI_COMM_WORLD_RANK = 2 ] && CHORALE_NODES=speed=1; exec ./plain")
assert done.stdout == "right\n" and used(done.stderr)[0] == 0, done
assert "0 ranks planned" in on("aabb", "./calls", "speed=1")[1]
print(f"{planned} calls planned, every element right")
