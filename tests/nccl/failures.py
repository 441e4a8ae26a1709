#!/usr/bin/env python3
"""A library that is ready for failures, in programs over NCCL while links fail: by the file that the preload library
reads, at each call or after a signal, and by a call of libchorale-nccl.

NCCL and the devices are tests/nccl/shim.

And programs that 'library export --as nccl' writes, by the file and by a call.

Usage: failures.py CHORALE PRELOAD WATCH PLAIN CALLS CXX SHIM_HEADERS SHIM_LIBRARY FLAGS SOURCE
"""
import json
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, run_chorale, work  # noqa: E402

_, preload, watch, plain, calls, _, headers, shim, flags, source = [str(pathlib.Path(a).absolute()) for a in sys.argv[1:11]]
cxx = sys.argv[6]
(work / "spec.json").write_text(json.dumps({"machines": ["ring:4"], "collectives": ["allreduce", "allgather"], "max_chunks": 2, "conflicts": 1000}))
run_chorale("library", "build", "spec.json", "--failures", 1, "-o", "ready.db")
settings = {"CHORALE_LOG": "1", "CHORALE_ALGORITHMS": f"{work}/ready.db"}


def check(done):
    assert done.stdout == "right\n" and int(re.search(r"watched (\d+) sends", done.stderr)[1]) > 500, done
    for call in ("all_?reduce", "all_?gather"):
        for failure, ranks in [("link 1-2", 4), ("link 0-3", 4), ("link 0-1", 4), ("link 2-3", 4), ("rank 2", 3)]:
            assert re.search(rf"(?i){call}, {ranks} ranks, .*ready.db, .*, point \d+, after the failure of {failure}\n", done.stderr), (call, failure, done.stderr)
        assert re.search(rf"(?i){call}, 4 ranks, .*ready.db, \w+ of ring:4, all, point \d+\n", done.stderr), (call, done.stderr)
        assert re.search(rf"(?i){call}, 4 ranks, .*passed on to NCCL: no \w+ for 4 ranks without link 7-8", done.stderr), (call, done.stderr)


for signal in ({}, {"CHORALE_FAILED_SIGNAL": "USR1", "RAISE": "1"}):
    failed = work / f"failed{len(signal)}"
    done = run(plain, failed, env={**settings, **signal, "LD_PRELOAD": f"{preload}:{watch}", "CHORALE_FAILED": str(failed)})
    check(done)
    assert re.findall("no algorithm is ready.*", done.stderr) == [
        "no algorithm is ready for the failure of 'link 7-8'; there are some for 8 failures: link 0-1, link 0-3, link 1-2, link 2-3, ...: "
        "NCCL does the collectives"], done
check(run(calls, env={**settings, "LD_PRELOAD": watch}))
# Without a name none of this is used, and the watch sees what it is for.
done = run(plain, work / "elsewhere", env={**settings, "LD_PRELOAD": f"{preload}:{watch}"}, code=1)
assert "whose link has failed" in done, done

# Emitted ones.
(emitted,) = [run_chorale("library", "export", "ready.db", "ring:4", "allreduce", "--as", "nccl", "-o", "programs").strip()]


def compiled(name, *more):
    run(cxx, "-x", "c++", *more, "-I", headers, "-x", "none", shim, f"-Wl,-rpath,{pathlib.Path(shim).parent}", "-pthread", "-ldl", "-o", name)
    return f"./{name}"


switches = compiled("switches", "-std=c++20", "-O0", f'-DEMITTED="{work / emitted}"', source)
for env in ({}, {"CHORALE_FAILED": f"{work}/named"}, {"CHORALE_FAILED": f"{work}/named2", "CHORALE_FAILED_SIGNAL": "USR1", "RAISE": "1"}):
    done = run(switches, env.get("CHORALE_FAILED", "-"), env={**env, "LD_PRELOAD": watch})
    assert done.stdout == "right\n" and int(re.search(r"watched (\d+) sends", done.stderr)[1]) > 300, done
    assert done.stderr.startswith("no algorithm is ready for the failure of 'link 7-8'; there are some for 8 failures: "), done
alone = compiled("alone", f"@{flags}/quick17", "-Wall", "-Wextra", "-Werror", emitted)
for name in ("link 2-3", "rank 1", ""):
    (work / "named").write_text(name + "\n")
    lines = run(alone, 1009, 2, "bfloat16", env={"CHORALE_FAILED": f"{work}/named"}).splitlines()
    assert len(lines) == 2 and all(line.startswith(f"after the failure of {name}: allreduce on ring:4" if name else "allreduce on ring:4") for line in lines), lines
    assert all(line.endswith(", 0 wrong, 0 slots with ranks that differ") for line in lines), lines
(work / "named").write_text("link 0-9")
assert run(alone, env={"CHORALE_FAILED": f"{work}/named"}, code=2).stderr.count("\n") == 1
print("four links and a rank failed, one after the other, over NCCL: every result right, no message over a failed link")
