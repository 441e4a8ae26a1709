#!/usr/bin/env python3
"""Libraries that are ready for failures.

usage: benchmarks/failures.py build  [--chorale build/release/bin/chorale] [--seconds 12] [--jobs 2] [MACHINE ...]
       benchmarks/failures.py slow   [--chorale build/release/bin/chorale]
       benchmarks/failures.py switch [--library build/release/lib/libchorale-mpi-preload.so] [--bytes 65536]

build: AllReduce on each machine and after each single failure, --seconds for each question: seconds in all, those of
       the processors, the least share of a bound that an answer reaches, and the table of 'chorale library failures'.
slow:  AllReduce of 1 GiB on p ranks at a switch, one of which has kept a part r of its rate: the answer and its bound beside
       the closed bound of that case, all over a ring's time without the failure, 2 (p - 1) / p of the vector. Closed: the
       slow rank receives a vector, 1 / r, and with each rank as a group of its own 2 (p - 1) vectors leave ranks whose rates
       sum to p - 1 + r. OptCC (arXiv:2606.01680) is of this case, and states an overhead of O(1/p) where r is at least 1/2,
       which follows from this bound; its own formula is not compared. r = 0: the rank is lost, and p - 1 are left.
switch: needs root (benchmarks/fabric): a ring of 8 of network namespaces under load, a process of mpi4py per rank,
        preloaded. The link 0-1 is cut, the routes over it are changed, and the file of CHORALE_FAILED names it; the
        time from there to the end of the first AllReduce that uses the algorithms without the link, and the times of
        AllReduces before, between cut and switch (the old algorithm over changed routes), and after.
"""
import argparse
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

PROGRAM = r"""
import sys, time
import numpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
count, end, work = int(sys.argv[1]) // 4, float(sys.argv[2]), sys.argv[3]
mine = numpy.arange(count, dtype=numpy.int32) % 97 + comm.rank
expected = (numpy.arange(count, dtype=numpy.int32) % 97) * comm.size + comm.size * (comm.size - 1) // 2
out = numpy.empty_like(mine)
for _ in range(3):
    comm.Allreduce(mine, out)
if comm.rank == 0:
    open(work + "/started", "w").close()
rows = []
begin = time.time()
while True:
    out[:] = 0
    before = time.time()
    comm.Allreduce(mine, out)
    rows.append((before, time.time()))
    assert (out == expected).all(), "wrong"
    if comm.bcast(time.time() - begin > end):
        break
if comm.rank == 0:
    for before, after in rows:
        print(before, after)
"""


def run(*command, codes=(0,), **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def build(options, folder):
    for machine in options.machines or ["dgx-h100:4", "mi250:2", "torus:8x8"]:
        (folder / "spec.json").write_text(json.dumps({"machines": [machine], "collectives": ["allreduce"], "seconds": options.seconds}))
        (folder / "ready.db").unlink(missing_ok=True)
        begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        said = run(options.chorale, "library", "build", folder / "spec.json", "--failures", 1, "-o", folder / "ready.db", "--jobs", options.jobs, codes=(0, 3))
        took, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        run(options.chorale, "library", "failures", folder / "ready.db", "--json", folder / "table.json")
        shares = [row["of_bound"] for row in json.loads((folder / "table.json").read_text())["rows"]]
        print(f"{machine}: {took:.0f} s, {cpu:.0f} s of processors; {said.strip()}; "
              f"{min(shares):.1%} to {max(shares):.1%} of the bound, {statistics.median(shares):.1%} in the median")
        print(run(options.chorale, "library", "failures", folder / "ready.db"), flush=True)
    return 0


def slow(options, folder):
    print(f"{'p':>3} {'r':>6} {'closed bound':>13} {'bound':>7} {'found':>7}   over a ring without a failure, whose rank is slow: 1 / r")
    for p in (4, 8, 16):
        links = [{"src": n, "dst": p, "both_ways": True} for n in range(p)]
        (folder / "star.json").write_text(json.dumps({"topology": "star", "ranks": p, "switches": 1, "links": links}))
        for r in (0.875, 0.75, 0.5, 0.25, 0):
            change = ["--degrade", f"0-switch0={r}"] if r else ["--without-rank", 0]
            run(options.chorale, "optimize", folder / "star.json", "allreduce", "--sizes", "1G", "--json", folder / "slow.json", *change, codes=(0, 3))
            row = json.loads((folder / "slow.json").read_text())["rows"][0]
            closed = max(1 / r, 2 * (p - 1) / (p - 1 + r)) if r else 2 * (p - 2) / (p - 1)
            ring, vector = 2 * (p - 1) / p, (1 << 30) / 25e3
            print(f"{p:3} {r:6} {closed / ring:13.3f} {row['bound_us'] / vector / ring:7.3f} {row['us'] / vector / ring:7.3f}", flush=True)
    return 0


def switch(options, folder):
    sys.path.insert(0, str(HERE / "fabric"))
    import layout
    from machine import NAMED
    from network import Network, execute, why_not
    if reason := why_not():
        print(f"SKIPPED: {reason}")
        return 77
    python = next((each for each in ("/usr/bin/python3", sys.executable) if subprocess.run([each, "-c", "import mpi4py, numpy"], capture_output=True).returncode == 0), None)
    if not python:
        print("SKIPPED: mpi4py is not here")
        return 77
    (folder / "spec.json").write_text(json.dumps({"machines": ["ring:8"], "collectives": ["allreduce"], "max_chunks": 8, "seconds": 20}))
    run(options.chorale, "library", "build", folder / "spec.json", "--failures", 1, "-o", folder / "ready.db", codes=(0, 3))
    (folder / "program.py").write_text(PROGRAM)
    machine = NAMED["ring8"]()
    with Network(machine) as network:
        def namespace(rank):
            return layout.namespace(machine, network.prefix, rank)

        def cut():
            """The link 0-1 carries nothing any more; everything goes around the other side."""
            for rank in range(8):
                lines = []
                for other in range(8):
                    if other != rank:
                        # The line 1 2 3 4 5 6 7 0 is left.
                        around = (rank + (1 if (rank - 1) % 8 < (other - 1) % 8 else -1)) % 8
                        via = "" if around == other else f"via {layout.address(around)} "
                        lines.append(f"route replace {layout.address(other)}/32 {via}dev {layout.device(around)} {'onlink ' if via else ''}"
                                     f"src {layout.address(rank)}")
                execute(layout.Command(["ip", "-n", namespace(rank), "-batch", "-"], "\n".join(lines) + "\n"))
            for a, b in ((0, 1), (1, 0)):
                execute(layout.Command(["ip", "-n", namespace(a), "link", "set", layout.device(b), "down"]))

        moments = {}

        def fail():
            while not (folder / "started").exists():
                time.sleep(0.01)
            time.sleep(2)
            moments["cut"] = time.time()
            cut()
            moments["routes"] = time.time()
            time.sleep(5)
            (folder / "failed.new").write_text("link 0-1\n")
            (folder / "failed.new").rename(folder / "failed")
            moments["named"] = time.time()

        thread = threading.Thread(target=fail)
        thread.start()
        out, err = network.mpirun_said(["env", f"LD_PRELOAD={network.work}/idle.so:{options.library}", "CHORALE_LOG=1", f"CHORALE_ALGORITHMS={folder}/ready.db",
                                        f"CHORALE_FAILED={folder}/failed", python, folder / "program.py", options.bytes, 16, folder], seconds=120)
        thread.join()
        rows = [tuple(map(float, line.split())) for line in out.splitlines() if re.match(r"^[\d.]+ [\d.]+$", line)]
        used = re.findall(r"MPI_Allreduce, 8 ranks, blocks of \d+ int32: (.*)", err)
        print(f"ring of 8, {machine.unit:g} Mbit/s a link, AllReduce of {options.bytes} bytes, {len(rows)} of them, every result right")
        print("algorithms: " + "; then ".join(name.replace(str(folder) + "/", "") for name in used))
        ms = {"before": [b - a for a, b in rows if b < moments["cut"]], "after the cut": [b - a for a, b in rows if moments["routes"] < a and b < moments["named"]],
              "after the switch": [b - a for a, b in rows if a > moments["named"]][1:]}
        for name, times in ms.items():
            print(f"{name}: {statistics.median(times) * 1e3:.1f} ms in the median of {len(times)}" if times else f"{name}: none")
        hit = [b - a for a, b in rows if a < moments["routes"] and b > moments["cut"]]
        print(f"the calls that the cut hit: at most {max(hit) * 1e3:.1f} ms (with {1e3 * (moments['routes'] - moments['cut']):.0f} ms to change the routes)")
        first = next((a, b) for a, b in rows if a > moments["named"])
        print(f"from the name of the failure to the end of the first call without the link: {(first[1] - moments['named']) * 1e3:.1f} ms")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["build", "slow", "switch"])
    parser.add_argument("--chorale", default=ROOT / "build/release/bin/chorale", type=pathlib.Path)
    parser.add_argument("--library", default=ROOT / "build/release/lib/libchorale-mpi-preload.so", type=pathlib.Path)
    parser.add_argument("--seconds", default=12, type=int)
    parser.add_argument("--jobs", default=2, type=int)
    parser.add_argument("--bytes", default=65536, type=int)
    parser.add_argument("machines", nargs="*")
    options = parser.parse_args()
    options.chorale, options.library = options.chorale.resolve(), options.library.resolve()
    with tempfile.TemporaryDirectory(prefix="chorale_failures_") as folder:
        return {"build": build, "slow": slow, "switch": switch}[options.mode](options, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
