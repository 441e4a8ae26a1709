#!/usr/bin/env python3
"""SimGrid, a simulator of others, as the judge of times.

usage: benchmarks/simgrid.py predict [--chorale build/release/bin/chorale] [--seconds 10] [--most 1]
                                     [--collective NAME] [MACHINE ...]
       benchmarks/simgrid.py compare [--chorale ...] [--seconds 5] [--sizes 1K:64M:8] [--collective NAME]
                                     [MACHINE ...]
       benchmarks/simgrid.py total LOG ...

predict: every point on a frontier by `chorale simulate`, against what is predicted. Exit code 1 where a
prediction is off by more than --most percent.

compare: what `chorale optimize` chooses at each size, replayed, against the best of all algorithms and
selectors that SMPI has of the collective, on the same platform with the same options, but that their messages
below 64 KiB are eager. Their times are of a program with one call, all ranks at once; it checks its data, and
what is wrong, fails, or needs more than 15 s (of this machine) does not compete at that size and is named.

total: how many rows logs of comparisons have, and in how many SMPI is faster.

Machines are names or files; routers:4x4 is a torus of routers with a rank at each, which forward without the
rank.

Needs libsimgrid-dev; says so and does nothing where that is missing.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

PREDICTED = ["dgx2:2", "mi250:2", "dgx-a100:4"]
COMPARED = ["torus:4x4", "dgx1", "dgx-a100:2", "hub:8", "mesh:4x4", "dragonfly:2x2x1", "fat-tree:4", "routers:4x4", "torus:8x8"]
COLLECTIVES = ["allreduce", "allgather", "alltoall", "broadcast"]
LONGEST = 15  # seconds of a run of SMPI
SIZES = [1 << 10, 1 << 16, 1 << 22, 1 << 30]  # of predictions

# A call with data, of blocks of `count` numbers; it aborts where a result is wrong.
PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int count = atoi(argv[1]);
#if defined(ALLREDUCE) || defined(BROADCAST)
  const int n = count;
#else
  const int n = count * ranks;
#endif
  int* in = malloc(sizeof(int) * n);
  int* out = malloc(sizeof(int) * n);
  for (int i = 0; i < n; ++i) in[i] = 1000 * rank + i % 97, out[i] = -1;
#if defined(ALLREDUCE)
  MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) wrong += out[i] != 500 * ranks * (ranks - 1) + ranks * (i % 97);
#elif defined(ALLGATHER)
  MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) wrong += out[i] != 1000 * (i / count) + i % count % 97;
#elif defined(ALLTOALL)
  MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) wrong += out[i] != 1000 * (i / count) + (rank * count + i % count) % 97;
#else
  if (rank == 0)
    for (int i = 0; i < count; ++i) out[i] = i;
  MPI_Bcast(out, count, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) wrong += out[i] != i;
#endif
  if (wrong) abort();
  MPI_Finalize();
}
"""

# As options of SMPI name them, and whether a message has a block for each rank.
CALLS = {"allreduce": ("allreduce", False), "allgather": ("allgather", True), "alltoall": ("alltoall", True), "broadcast": ("bcast", False)}


def run(*command, codes=(0, 3), timeout=None):
    """With a timeout, which ends what the command has started, too; None where it ended it."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if codes and process.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}\n{err.strip()[:2000]}")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def routers(spec, file):
    """A torus of routers, a rank at each: the links of torus:, of the same rate and latency, between routers,
    and from a rank to its router one that takes all of them and a tenth of their latency."""
    rows, columns = (int(each) for each in spec.split(":")[1].split("x"))
    ranks = rows * columns
    links = []
    for n in range(ranks):
        router = ranks + n
        links += [{"src": n, "dst": router, "bandwidth": 4, "alpha_us": 0.07}, {"src": router, "dst": n, "bandwidth": 4, "alpha_us": 0}]
        r, c = divmod(n, columns)
        for there in {(r + 1) % rows * columns + c, (r - 1) % rows * columns + c, r * columns + (c + 1) % columns, r * columns + (c - 1) % columns}:
            links.append({"src": router, "dst": ranks + there, "bandwidth": 1, "alpha_us": 0.63})
    file.write_text(json.dumps({"topology": spec, "ranks": ranks, "switches": ranks, "links": links}))
    return file


class Smpi:
    """SMPI's own algorithms of a collective on a platform that Chorale has written."""

    def __init__(self, folder, point, collective, ranks):
        self.folder, self.ranks = folder, ranks
        self.name, self.by_rank = CALLS[collective]
        self.program = folder / f"{collective}.x"
        if not self.program.exists():
            (folder / "call.c").write_text(PROGRAM)
            run("smpicc", "-O1", f"-D{collective.upper()}", folder / "call.c", "-o", self.program)
        options = re.findall(r"--cfg=\S+", (point / "replay.sh").read_text())
        options.remove("--cfg=smpi/send-is-detached-thresh:0")  # its default is better for them
        (folder / "ranks").write_text("\n".join((point / "hosts").read_text().split()[:ranks]) + "\n")
        self.command = ["smpirun", "-np", ranks, "-platform", point / "platform.xml", "-hostfile", folder / "ranks", *options,
                        "--log=root.thresh:critical", "--log=smpi_utils.thresh:info"]
        self.choices = [f"smpi/{self.name}:{name}" for name in self.algorithms()] + [
            f"smpi/coll-selector:{name}" for name in ("default", "ompi", "mpich", "mvapich2", "impi")]

    def algorithms(self):
        done = run("smpirun", *self.command[1:], f"--cfg=smpi/{self.name}:none", "-replay", self.folder / "ranks", codes=None)
        names = re.search(r"Valid algorithms: ([^\n]*)\.", done.stdout + done.stderr)[1].split(", ")
        return [name for name in names if name != "automatic"]  # that one runs all the others

    def us(self, choice, size):
        """Microseconds of a call; infinite where it does not compete."""
        count = max(1, size // (4 * self.ranks if self.by_rank else 4))
        done = run(*self.command, f"--cfg={choice}", self.program, count, codes=None, timeout=LONGEST)
        time = done and re.search(r"Simulated time: (\S+) seconds", done.stdout + done.stderr)
        return float(time[1]) * 1e6 if time and done.returncode == 0 else math.inf


def simulated(chorale, folder, result, point, sizes):
    run(chorale, "simulate", result, "--point", point, "--sizes", ",".join(map(str, sizes)), "--json", folder / "rows.json", "-q", codes=(0,))
    return json.loads((folder / "rows.json").read_text())["rows"]


def ours(options, folder, machine, collective):
    """Simulated microseconds and the number of the point that `optimize` chooses, by size; and the result's
    file."""
    run(options.chorale, "optimize", machine, collective, "--sizes", options.sizes, "--search-time", f"{options.seconds}s",
        "-o", folder / "best", "--json", folder / "table.json", "-q")
    chosen = {}
    for row in json.loads((folder / "table.json").read_text())["rows"]:
        chosen.setdefault(row["point"], []).append(row["message_bytes"])
    times = {}
    for point, sizes in chosen.items():
        for row in simulated(options.chorale, folder, folder / "best/result.json", point, sizes):
            times[row["message_bytes"]] = (row["simulated_us"], point)
    return dict(sorted(times.items()))


def compare(options, folder):
    """A row per machine, collective and size; those in which SMPI is faster are listed again."""
    print(f"{'machine':<16} {'collective':<10} {'message B':>10} {'ours us':>10} {'point':>5} {'best of SMPI us':>15}  ratio  which")
    slower, rows = [], 0
    for machine in options.machines or COMPARED:
        spec = routers(machine, folder / "routers.json") if machine.startswith("routers:") else machine
        for collective in options.collective or COLLECTIVES:
            shutil.rmtree(folder / "best", ignore_errors=True)
            times = ours(options, folder, spec, collective)
            if not times:
                print(f"{machine:<16} {collective:<10} SKIPPED: nothing was found in {options.seconds} s", flush=True)
                continue
            shutil.rmtree(folder / "out", ignore_errors=True)
            run(options.chorale, "emit", folder / "best/result.json", "--target", "simgrid", "--point", next(iter(times.values()))[1], "-o", folder / "out")
            ranks = json.loads((folder / "best/result.json").read_text())["topology"]["ranks"]
            smpi = Smpi(folder, next((folder / "out").iterdir()), collective, ranks)
            left_out = {}
            for size, (us, point) in times.items():
                theirs = {choice: smpi.us(choice, size) for choice in smpi.choices}
                for choice in (choice for choice, time in theirs.items() if time == math.inf):
                    left_out.setdefault(choice.split("/")[1], []).append(str(size))
                choice, best = min(theirs.items(), key=lambda each: each[1])
                line = f"{machine:<16} {collective:<10} {size:>10} {us:>10.4g} {point:>5} {best:>15.4g}  {best / us:>5.2f}  {choice.split('/')[1]}"
                rows += 1
                slower += [line] if best < 0.999 * us else []
                print(line, flush=True)
            print(f"{machine:<16} {collective:<10} {len(smpi.choices)} algorithms and selectors of SMPI; left out at some size: "
                  + ("; ".join(f"{name} ({', '.join(sizes)})" for name, sizes in left_out.items()) or "none"), flush=True)
    print(f"{rows} rows; in {len(slower)} of them the best of SMPI is faster" + (":" if slower else ""))
    print("\n".join(slower))
    return 0


def total(options, _):
    """Of logs of comparisons, those that were ended early included."""
    row = re.compile(r"(\S+) +(" + "|".join(COLLECTIVES) + r") +\d+ +(\S+) +\d+ +(\S+) +\d+\.\d+ +\S+$")
    machines, ratios = set(), []
    for log in options.machines:
        listed = False  # those in which SMPI is faster, again
        for line in pathlib.Path(log).read_text().splitlines():
            listed = not line.startswith("$") and (listed or "rows; in" in line or "row; in" in line)
            if (found := row.match(line)) and not listed:
                machines.add(found[1])
                ratios.append(float(found[4]) / float(found[3]))
    if not ratios:
        sys.exit(f"{' '.join(options.machines) or 'total'}: no rows of a comparison; name logs of 'compare'")
    print(f"{len(ratios)} rows on {len(machines)} machines; {min(ratios):.2f} to {max(ratios):.2f} times as fast as the best of SMPI, "
          f"which is faster in {sum(ratio < 0.999 for ratio in ratios)}")
    return 0


def predict(options, folder):
    machines = [(machine, machine) for machine in options.machines]
    if not machines:
        dump = pathlib.Path(__file__).resolve().parents[1] / "tests/data/topology/h100.xml"
        run(options.chorale, "topology", "import", dump, "--nodes", 2, "-o", folder / "h100x2.json")
        machines.append(("H100 x2, imported", folder / "h100x2.json"))
        machines += [(machine, machine) for machine in PREDICTED]
    print("predicted us / simulated us, and how far off the worst of a row is")
    print(f"{'machine':<18} {'collective':<10} {'point':>12} " + "".join(f"{size:>26,} B" for size in SIZES) + "     off")
    worst, compared = 0, 0
    for words, machine in machines:
        for collective in options.collective or COLLECTIVES[:3]:
            run(options.chorale, "frontier", machine, collective, "--max-chunks", 8, "--time-limit", f"{options.seconds}s",
                "--json", folder / "result.json", "-q")
            result = json.loads((folder / "result.json").read_text())
            for number, point in enumerate(result["points"]):
                if not point["on_frontier"]:
                    continue
                rows = simulated(options.chorale, folder, folder / "result.json", number, SIZES)
                off = max(abs(row["simulated_us"] / row["predicted_us"] - 1) for row in rows)
                worst, compared = max(worst, off), compared + len(rows)
                cells = "".join(f"{row['predicted_us']:>14.2f} {row['simulated_us']:>13.2f}" for row in rows)
                print(f"{words:<18} {collective:<10} {point['steps']:>3}, {point['rounds']}/{point['chunks']:<6} {cells} {100 * off:>6.2f} %", flush=True)
    print(f"{compared} times compared; the worst is off by {100 * worst:.3f} %")
    return 1 if 100 * worst > options.most or compared == 0 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["predict", "compare", "total"])
    parser.add_argument("--chorale", default="build/release/bin/chorale")
    parser.add_argument("--seconds", default=5, type=int, help="of each search (5)")
    parser.add_argument("--sizes", default="1K,16K,64K,256K,1M,16M,64M",
                        help="of messages, to compare (1K,16K,64K,256K,1M,16M,64M); SMPI has all data of all ranks in memory")
    parser.add_argument("--most", default=1, type=float, help="percent that a prediction may be off (1)")
    parser.add_argument("--collective", action="append", choices=COLLECTIVES)
    parser.add_argument("machines", nargs="*")
    options = parser.parse_intermixed_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    commit = run("git", "-C", root, "rev-parse", "--short", "HEAD").stdout.strip()
    print(f"{os.cpu_count()} hardware threads; commit {commit}; {options.seconds} s a search")
    if not shutil.which("smpirun"):
        print("SKIPPED: no SimGrid here, so nothing was compared; install libsimgrid-dev")
        return 0
    with tempfile.TemporaryDirectory() as name:
        return {"predict": predict, "compare": compare, "total": total}[options.mode](options, pathlib.Path(name))


if __name__ == "__main__":
    sys.exit(main())
