#!/usr/bin/env python3
"""The big sweep: baselines for 2 to 16 ranks and every schedule of a directory of results, on threads and
under mpirun, from 1 byte to 64 MB, all types and operations, in and out of place, every element checked.
Prints counts, and a line for each failure. The transport `kernel` is the source of the CUDA kernel on
threads, up to 1 MB.

Usage: sweep.py STATE [--results DIR] [--minutes M] [--ranks N ...] [--sizes quick|all] [--transports threads mpi kernel]

STATE is a file of what is done: interrupted, or out of its minutes, the sweep goes on from there when it is
run again. With --results DIR (of `synthesis --grid --results DIR`) the schedules there are swept as well.
Exit code 1 if anything was wrong, 3 if something is left to do.
"""
import argparse
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from work_list import WorkList, root

parser = argparse.ArgumentParser(add_help=True)
parser.add_argument("state", type=pathlib.Path)
parser.add_argument("--results", type=pathlib.Path)
parser.add_argument("--minutes", type=float, default=9)
parser.add_argument("--ranks", type=int, nargs="*", default=range(2, 17))
parser.add_argument("--sizes", choices=["quick", "all"], default="all")
parser.add_argument("--transports", nargs="*", default=["threads", "mpi"])
parser.add_argument("--chorale", type=pathlib.Path, default=root / "build/release/bin/chorale")
options = parser.parse_args()
os.environ.update(COLUMNS="1000", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")

TYPES = ["float", "double", "int", "long", "int8", "uint8", "uint32", "uint64", "half", "bfloat16"]
OPS = ["sum", "prod", "min", "max", "avg"]
FAMILIES = ("ring_", "tree_", "two_tree_", "direct_")
LARGEST = 64 << 20  # of a buffer
MEMORY = 6 << 30  # of all ranks together: what arrives in one step to be added has room of its own, beside the buffers
ALL = ["--bytes", "1,13,127", "--type", "all", "--op", "all"]
PRIMES = [2, 3, 5, 7, 31, 127, 1021, 8191, 65537, 1048573]
BLOCKS = {"allreduce": 1, "broadcast": 1, "reduce": 1}  # of the largest buffer; of the others as many as ranks


def sizes_and_types(key, collective, ranks, blocks_in_memory, transport):
    """What a result is run with: arguments of `chorale run`. But for ALL, types and operations rotate from
    result to result."""
    turn = sum(map(ord, key))
    kind, other, op = TYPES[turn % len(TYPES)], TYPES[(turn + 3) % len(TYPES)], OPS[turn % len(OPS)]
    largest = min((LARGEST if transport != "kernel" else 1 << 20) // BLOCKS.get(collective, ranks), int(MEMORY / blocks_in_memory))
    small = ["--bytes", "1,8,1021", "--type", kind, "--op", op]
    if options.sizes == "quick":
        return [small, [*small, "--in-place"]]
    if key.startswith("types "):
        return [ALL, [*ALL, "--in-place"]]
    if key.startswith("results "):
        # In place is the same program under mpirun, and starting the processes is what takes the time.
        in_place = [[*small, "--in-place"]] if transport != "mpi" else []
        return [["--bytes", f"1,1024,65537,{largest}", "--type", kind, "--op", op], *in_place]
    return [ALL, [*ALL, "--in-place"],
            ["--bytes", ",".join(map(str, PRIMES)), "--type", other, "--op", "sum", "--in-place"],
            ["--bytes", f"{min(1 << 20, largest)},{largest}", "--type", kind, "--op", op]]


def run(command):
    # A group of its own, so that what hangs ends with all its ranks.
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(timeout=300)
        except BaseException as stopped:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(stopped, subprocess.TimeoutExpired):
                raise
            code = -1
        out.seek(0)
        return code, out.read()


def rows_of(text):
    """Rows and wrong elements of the table that `chorale run` prints."""
    rows = [line.split() for line in text.splitlines() if line[:1].isspace() or line[:1].isdigit()]
    rows = [row for row in rows if len(row) == 10 and row[0].isdigit()]
    return len(rows), sum(int(row[-1]) for row in rows)


def blocks_in_memory(result, point):
    """Inputs, outputs, and for each rank what arrives in its fullest step: an upper bound, in blocks."""
    ranks, collective = result["topology"]["ranks"], result["collective"]["collective"]
    fullest = collections.Counter()
    for step in point["schedule"]:
        arrivals = collections.Counter(send[2] for send in step["sends"])
        for rank, count in arrivals.items():
            fullest[rank] = max(fullest[rank], count)
    buffers = 2 * ranks * (1 if collective in BLOCKS else ranks)
    return buffers + sum(fullest.values()) / point["does"]["chunks"]


def works():
    """What there is to do: key, result file or none, baseline or how many schedules, collective, ranks, and
    the blocks that all ranks hold at once."""
    listed = subprocess.run([options.chorale, "classic", "list"], capture_output=True, text=True, check=True,
                            env={**os.environ, "COLUMNS": "1000"}).stdout
    for line in listed.splitlines()[1:]:
        name, collective = line.split()[:2]
        if name.startswith(FAMILIES):
            for ranks in options.ranks:
                yield f"{name} on {ranks}", None, name, collective, ranks, 3 * ranks * (1 if collective in BLOCKS else ranks)
    if options.results:
        for path in sorted(options.results.glob("*.json")):
            result = json.loads(path.read_text())
            schedules = sum(point["on_frontier"] for point in result["points"])
            blocks = max(blocks_in_memory(result, point) for point in result["points"])
            work = path, schedules, result["collective"]["collective"], result["topology"]["ranks"], blocks
            yield f"results {path.stem}", *work
            if options.sizes == "all":
                yield f"types {path.stem}", *work


def sweep(key, path, what, collective, ranks, blocks_in_memory, transport, folder):
    """Runs, wrong elements and what was reported of the commands that failed."""
    if path is None:
        path = folder / "classic.json"
        made = subprocess.run([options.chorale, "classic", what, f"full:{ranks}", "--json", path], capture_output=True, text=True)
        if made.returncode != 0:
            return 0, 0, [made.stderr]
    runs, wrong, failed = 0, 0, []
    for arguments in sizes_and_types(key, collective, ranks, blocks_in_memory, transport):
        # Sizes above are of blocks.
        at = arguments.index("--bytes") + 1
        messages = ",".join(str(int(size) * BLOCKS.get(collective, ranks)) for size in arguments[at].split(","))
        command = [options.chorale, "run", path, "--point", "all", "--iterations", "1", "--warmup", "0", *arguments[:at], messages, *arguments[at + 1:]]
        if transport != "threads":
            command += ["--transport", transport]
        if transport == "mpi":
            command = ["mpirun", "--oversubscribe", "-n", str(ranks), *command]
        code, text = run(list(map(str, command)))
        rows, bad = rows_of(text)
        runs += rows
        wrong += bad
        if code != 0 or rows == 0:
            failed.append(f"exit code {code}: {' '.join(map(str, command))}\n{text[-200:]}")
    return runs, wrong, failed


def part(key, work, transport, folder):
    runs, wrong, failed = sweep(key, *work, transport, pathlib.Path(folder))
    return {"runs": runs, "wrong": wrong, "failed": failed, "schedules": work[1] if isinstance(work[1], int) else 1}


done = WorkList(options.state, options.minutes)
with tempfile.TemporaryDirectory() as folder:
    for key, *work in sorted(works(), key=lambda work: work[4]):  # few ranks first: they are quick
        for transport in options.transports:
            done.do(f"{key}, {transport}", lambda: part(key, work, transport, folder))

counts = collections.defaultdict(lambda: [0, 0, 0, 0, 0.0])
for name, entry in done.entries.items():
    kind = {"results": "synthesized", "types": "synthesized, all types"}.get(name.split()[0], "hand-written")
    count = counts[kind, name.rsplit(", ", 1)[1]]
    for i, value in enumerate([entry["schedules"], entry["runs"], entry["wrong"], len(entry["failed"]), entry["seconds"]]):
        count[i] += value
print(done.machine())
for (kind, transport), (schedules, runs, wrong, failed, seconds) in sorted(counts.items()):
    print(f"{kind}, {transport}: {schedules} schedules, {runs} runs, {wrong} wrong, {failed} failed, {seconds:.0f} s")
sys.exit(done.exit_code())
