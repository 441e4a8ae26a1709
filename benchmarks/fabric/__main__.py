#!/usr/bin/env python3
"""Machines laid out as network namespaces joined by shaped links, a process of Open MPI a rank: what the
model predicts, compared with what they take.

Ranks come before all other work on this machine and sleep while they wait, so that others disturb little. A
row whose median is more than 1.1 times its shortest is unsteady: measured again, up to --repeats times, then
marked.

  check    each machine carries what it says: bytes stay on their links, both ways at once, nothing is lost; alpha and beta
  predict  every point of our frontiers and every hand-written algorithm: predicted and measured time
  compare  ours, the point that should be the fastest, against each of Open MPI's own algorithms, in the same runs
  emitted  the point that should be the fastest as a program of 'emit --target mpi' and by the engine of 'bench' and of preloads, in turn
  library  a library built for the machine, measured on it, and preloaded into a program of mpi4py: its collectives with and without,
           in turn; where MPI's own was measured to be faster, it is passed on
  clean    takes down what runs left that were killed

Usage: python3 benchmarks/fabric CHORALE [check] [predict] [compare] [emitted] [library] [--machines ring8,two4] [--collectives allgather,allreduce]
       [--bytes 64K,512K] [--unit MBIT] [--chunks 1-4,16] [--search 40s] [--iterations 5] [--repeats 3]
       [--conflicts 1000]
       python3 benchmarks/fabric clean

Machines: ring4, ring8, ring8slow, two4, dgx1l, star8, mesh2x4, mesh2x4cut, a file of docs/formats.md, or what
'chorale topology list' has. Only root can; without, and where the kernel lacks something, it reports what and
exits with 77.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from held import Held
from load import Load
from machine import Refused, fullest, machine_of, predicted_us
from network import Failed, Network, clean, why_not
from report import errors, quantile, spearman

KINDS = ["allgather", "allreduce", "alltoall", "broadcast"]
# Open MPI 4.1's own algorithms: coll_tuned_<collective>_algorithm.
THEIRS = {"allgather": ["default", "linear", "bruck", "recursive doubling", "ring", "neighbor"],
          "allreduce": ["default", "basic linear", "nonoverlapping", "recursive doubling", "ring", "segmented ring", "rabenseifner"],
          "alltoall": ["default", "linear", "pairwise", "modified bruck", "linear sync"],
          "reducescatter": ["default", "basic linear", "recursive doubling", "recursive halving", "butterfly"],
          "broadcast": ["default", "basic linear", "chain", "pipeline", "split binary", "binary", "binomial", "knomial", "scatter allgather",
                        "scatter allgather ring"]}
TUNED = {"allgather": "allgather", "allreduce": "allreduce", "alltoall": "alltoall", "broadcast": "bcast",
         "reducescatter": "reduce_scatter_block"}


def bytes_of(text):
    number = text.rstrip("KMG")
    return int(number) << {"": 0, "K": 10, "M": 20, "G": 30}[text[len(number):]]


def steady(line):
    """Half of the runs took as long as the shortest, nearly."""
    return line["time_us"] < 1.1 * line["min_us"]


def unsteady_rows(lines):
    return sum(not steady(line) for line in lines)


class Study:
    """One machine that stands, and what is asked of it."""

    def __init__(self, arguments, machine, network):
        self.arguments, self.machine, self.network = arguments, machine, network
        self.failures = 0

    # ---- what it carries

    def steadily(self, what, unsteady):
        """what(), again while unsteady(result), a number, is not 0; the best result, with the processors that
        others used meanwhile."""
        best = None
        for _ in range(self.arguments.repeats):
            with Load() as load:
                result = what()
            if best is None or unsteady(result) < unsteady(best[0]):
                best = (result, load.cores)
            if unsteady(best[0]) == 0:
                break
        return best

    def pingpong(self, pairs, sizes):
        text = self.network.mpirun([self.network.probe, "pingpong", ",".join(map(str, sizes)), *(f"{a}-{b}" for a, b in pairs)])
        return {(int(a), int(b), int(size)): float(median) for a, b, size, _, median in map(str.split, text.splitlines())}

    def everyone(self):
        """Transfers that load all links in both directions at once: over each link, or through switches to
        the next rank and the one before."""
        if self.machine.switches:
            n = self.machine.ranks
            return [(i, (i + 1) % n, 1) for i in range(n)]
        return [(src, dst, units) for (src, dst), units in sorted(self.machine.capacity.items())]

    def check(self):
        machine, beta = self.machine, 8 / self.machine.unit
        print(f"{machine.name}: {machine.ranks} ranks, {machine.switches} switches, {len(machine.pairs())} wires, a unit of {machine.unit:g} Mbit/s; "
              f"made in {self.network.seconds:.1f} s")
        first = next(iter(sorted(machine.capacity))) if not machine.switches else (0, 1)
        before = self.network.carried()
        self.pingpong([first], [1 << 18])
        after = self.network.carried()
        used = {(0, first[1])} if machine.switches else {first, first[::-1]}
        if machine.switches:
            used = {(0, machine.ranks), (machine.ranks, 0), (machine.ranks, 1), (1, machine.ranks)}
        moved = {link: after[link] - before[link] for link in after}
        least, most = min(moved[link] for link in used), max([moved[link] for link in moved if link not in used], default=0)
        self.say(least >= 6 << 18 and most < least / 20, f"{first[0]} and {first[1]} exchange messages: their link carries {least / 1e6:.2f} MB each way, "
                 f"any other at most {most / 1e3:.0f} KB")
        pairs = [(a, b) for a, b in machine.pairs() if b < machine.ranks] if not machine.switches else [(i, (i + 1) % machine.ranks) for i in range(machine.ranks)]
        sizes = [1, 1 << 14, 1 << 16, 1 << 18]
        units = {(a, b): 1 / fullest(machine, [(a, b, 1)]) for a, b in pairs}

        def betas(times):
            return [(times[a, b, 1 << 18] - times[a, b, 1 << 16]) / (3 << 16) * units[a, b] for a, b in pairs]

        def off(times):
            return sum(not 0.97 * beta < each < 1.05 * beta for each in betas(times))

        times, cores = self.steadily(lambda: self.pingpong(pairs, sizes), off)
        alphas, each = [times[a, b, 1] for a, b in pairs], betas(times)
        self.alpha, self.beta = statistics.median(alphas), statistics.median(each)
        self.say(not off(times), f"one message at a time: alpha {self.alpha:.0f} us (at most {max(alphas):.0f}), beta {self.beta:.5f} us a byte and unit "
                 f"({min(each):.5f} to {max(each):.5f}; 8 / unit is {beta:.5f}); others {cores:.2f} cores")
        bytes_each = 1 << 18
        transfers = self.everyone()
        expected = fullest(machine, [(a, b, units_ * bytes_each) for a, b, units_ in transfers]) * self.beta

        def together():
            words = [f"{a}-{b}:{units_ * bytes_each}" for a, b, units_ in transfers]
            return float(self.network.mpirun([self.network.probe, "together", 5, *words]).split()[1])

        took, cores = self.steadily(together, lambda us: us >= 1.1 * expected)
        self.say(took < 1.1 * expected, f"all links at once, both ways: {expected / took * machine.unit:.1f} of {machine.unit:g} Mbit/s a unit; others {cores:.2f} cores")
        dropped = self.network.dropped()
        self.say(dropped == 0, f"{dropped} packets were dropped by shapers")

    def say(self, good, text):
        self.failures += not good
        print(f"  {'ok    ' if good else 'FAILED'} {text}", flush=True)

    # ---- algorithms

    def calibrated(self):
        """The machine as chorale reads it, with the alpha and beta that were measured."""
        text = dict(self.machine.text, alpha_us=round(self.alpha, 3), beta_us_per_byte=round(self.beta, 6))
        text["links"] = [{k: v for k, v in link.items() if k not in ("alpha_us", "beta_us_per_byte")} for link in text["links"]]
        path = self.network.work / "machine.json"
        path.write_text(json.dumps(text))
        return path

    def files(self, collective):
        """name -> result file: our frontier, baselines on the machine's links, and those that have to be
        routed."""
        chorale, work = self.arguments.chorale, self.network.work
        found = {}
        machine = self.calibrated()
        for least, most in self.arguments.chunks:
            ours = work / f"ours_{collective}_{least}_{most}.json"
            done = subprocess.run([chorale, "frontier", machine, collective, "--min-chunks", str(least), "--max-chunks", str(most), "--time-limit",
                                   self.arguments.search, "-q", "--json", ours], capture_output=True, text=True)
            if done.returncode in (0, 3) and ours.exists() and json.loads(ours.read_text())["points"]:
                found[f"ours, {least} to {most} chunks"] = ours
            else:
                print(f"  {collective}, {least} to {most} chunks: chorale frontier found nothing: {done.stderr.strip()}")
        listed = subprocess.run([chorale, "classic", "list"], capture_output=True, text=True).stdout
        for line in listed.splitlines()[1:]:
            if not line.strip() or line.startswith(" ") or line.split()[1] != collective:
                continue
            name, path = line.split()[0], work / f"{line.split()[0]}.json"
            for where in (machine, f"full:{self.machine.ranks}"):
                if subprocess.run([chorale, "classic", name, where, "-q", "--json", path], capture_output=True).returncode == 0:
                    found[name if where == machine else f"{name}, routed"] = path
                    break
        return found

    def bench(self, collective, size, files, settings=None, options=(), seconds=280):
        rows = self.network.work / "rows.json"
        rows.unlink(missing_ok=True)
        self.network.mpirun([self.arguments.chorale, "bench", collective, *files, "-b", size, "-e", size, "-n", self.arguments.iterations, "-w", 1, "-c", 0,
                             "--out-of-place-only", "--wait", "60", "--json", rows, *options], settings, seconds)
        return json.loads(rows.read_text())["rows"]

    def predict(self):
        print(f"  {'collective':<10} {'bytes':>8}  {'algorithm':<34} {'predicted us':>12} {'measured':>9} {'ratio':>6}  others")
        all_rows = []
        for collective in self.arguments.collectives:
            files = self.files(collective)
            results = {str(path): json.loads(path.read_text()) for path in files.values()}
            names = {str(path): name for name, path in files.items()}
            for size in self.arguments.bytes:
                lines, cores = self.steadily(lambda: self.bench(collective, size, files.values(), options=["--all-points"]), unsteady_rows)
                for line in lines:
                    path, point = line["algorithm"].rsplit(" point ", 1)
                    result, block = results[path], line["count"] * 4
                    chosen = result["points"][int(point)]
                    name = names[path] if not names[path].startswith("ours") else f"ours ({chosen['steps']}, {chosen['rounds']}/{chosen['chunks']})"
                    row = {"collective": collective, "bytes": line["size"], "name": name, "measured": line["time_us"], "steady": steady(line),
                           "predicted": predicted_us(self.machine, result, int(point), block, self.alpha, self.beta)}
                    all_rows.append(row)
                    print(f"  {collective:<10} {row['bytes']:>8}  {name:<34} {row['predicted']:>12.0f} {row['measured']:>9.0f} "
                          f"{row['measured'] / row['predicted']:>6.3f}  {cores:.2f}{'' if row['steady'] else ' unsteady'}", flush=True)
        self.summary(all_rows)

    def summary(self, rows):
        groups = {}
        for row in rows:
            groups.setdefault((row["collective"], row["bytes"]), []).append(row)
        kept = [row for row in rows if row["steady"]]
        for name, chosen in (("all rows", rows), ("steady rows", kept)):
            if chosen:
                each = errors(chosen)
                print(f"  {self.machine.name}, {name}: {len(each)}; error median {100 * statistics.median(each):.1f} %, nine tenths within "
                      f"{100 * quantile(each, 0.9):.1f} %")
        orders = {key: spearman([row["predicted"] for row in group], [row["measured"] for row in group]) for key, group in groups.items()}
        print("  order within a collective and size (Spearman): " +
              ", ".join(f"{collective} {size}: {value:.2f}" for (collective, size), value in orders.items() if value is not None), flush=True)
        for (collective, size), group in groups.items():
            ours = [row for row in group if row["name"].startswith("ours")]
            if ours:
                chosen, best = min(ours, key=lambda row: row["predicted"]), min(group, key=lambda row: row["measured"])
                print(f"  {collective} {size}: the point that should be the fastest takes {chosen['measured'] / best['measured']:.2f} of the fastest here, {best['name']}")

    def promised(self, path, collective, size):
        """The shortest time that the result's points have by the model, for that buffer."""
        result = json.loads(path.read_text())
        block = size if collective in ("allreduce", "broadcast") else size / self.machine.ranks
        return min(each["steps"] * self.alpha + each["rounds"] / each["chunks"] * block * self.beta for each in result["points"] if each["on_frontier"])

    def compare(self):
        print(f"  {'collective':<10} {'bytes':>8} {'ours us':>9}  {'Open MPI, best':<24} {'us':>9}  times faster (in its runs); others at most")
        for collective in self.arguments.collectives:
            ours = [path for name, path in self.files(collective).items() if name.startswith("ours")]
            if not ours:
                continue
            for size in self.arguments.bytes:
                chosen = str(min(ours, key=lambda path: self.promised(path, collective, bytes_of(size))))
                tries = []
                for number, name in enumerate(THEIRS[collective]):
                    tuned = f"coll_tuned_{TUNED[collective]}_algorithm"
                    settings = {"coll_tuned_use_dynamic_rules": 1, tuned: number} if number else {}
                    try:
                        lines, cores = self.steadily(lambda: self.bench(collective, size, ["mpi", chosen, "mpi", chosen], settings, seconds=120), unsteady_rows)
                    except Failed as error:
                        print(f"  {collective} {size} {name}: {str(error)[:120]}")
                        continue
                    mine = statistics.median(line["time_us"] for line in lines if line["algorithm"] != "mpi")
                    theirs = statistics.median(line["time_us"] for line in lines if line["algorithm"] == "mpi")
                    tries.append((theirs, name, mine, cores, unsteady_rows(lines)))
                if not tries:
                    continue
                theirs, name, mine, _, shaky = min(tries)
                most = max(each[3] for each in tries)
                print(f"  {collective:<10} {bytes_of(size):>8} {mine:>9.0f}  {name:<24} {theirs:>9.0f}  {theirs / mine:.2f}; {most:.2f}"
                      f"{' unsteady' if shaky else ''}    (all: " + ", ".join(f"{each[1]} {each[0]:.0f}" for each in sorted(tries)) + ")", flush=True)

    def emitted(self):
        print(f"  {'collective':<10} {'bytes':>8}  {'point':<14} {'engine us':>9} {'emitted us':>10}  emitted over engine, least times of {self.arguments.iterations} "
              f"runs, {self.arguments.repeats} times in turn; others")
        for collective in self.arguments.collectives:
            ours = [path for name, path in self.files(collective).items() if name.startswith("ours")]
            for size in self.arguments.bytes if ours else []:
                chosen = min(ours, key=lambda path: self.promised(path, collective, bytes_of(size)))
                times, program = {"engine": [], "emitted": []}, None
                with Load() as load:
                    for _ in range(self.arguments.repeats):
                        row = self.bench(collective, size, [chosen])[0]
                        times["engine"].append(row["min_us"])
                        program = program or self.compiled(chosen, row["point"])
                        said = self.network.mpirun([program, row["count"], self.arguments.iterations])
                        times["emitted"].append(float(re.search(r": ([0-9.]+) us.*, 0 wrong", said)[1]))
                point = json.loads(chosen.read_text())["points"][row["point"]]
                named = f"({point['steps']}, {point['rounds']}/{point['chunks']})"
                engine, emitted = (min(each) for each in times.values())
                print(f"  {collective:<10} {bytes_of(size):>8}  {named:<14} {engine:>9.0f} {emitted:>10.0f}  {emitted / engine:.3f}; {load.cores:.2f}", flush=True)

    def compiled(self, result, point):
        folder = self.network.work / f"{result.stem}_{point}"
        subprocess.run([self.arguments.chorale, "emit", result, "--target", "mpi", "--point", str(point), "-q", "-o", folder], check=True)
        (source,) = folder.glob("*.cpp")
        subprocess.run(["mpicxx", "-O2", "-std=c++17", "-o", source.with_suffix(""), source], check=True)
        return source.with_suffix("")

    def library(self):
        preload = pathlib.Path(self.arguments.chorale).parent.parent / "lib/libchorale-mpi-preload.so"
        held = Held(self.network, self.arguments.chorale, preload, self.calibrated(), self.arguments.conflicts)
        sizes = [bytes_of(size) for size in self.arguments.bytes]
        print(f"  library: {held.build()}", flush=True)
        held.measure(sizes)
        with Load() as load:
            rows, (by_ours, passed) = held.compared(sizes, self.arguments.iterations)
        print(f"  {'collective':<13} {'bytes':>8} {'preloaded us':>12} {'MPI alone us':>12}  times faster")
        for (collective, size), (theirs, ours, same) in rows.items():
            print(f"  {collective:<13} {size:>8} {ours:>12.0f} {theirs:>12.0f}  {theirs / ours:.2f}{'' if same else '  RESULTS DIFFER'}")
            self.failures += not same
        ratios = [theirs / ours for theirs, ours, _ in rows.values()]
        print(f"  preloaded, a program of mpi4py: {statistics.median(ratios):.2f} times as fast in the median, {min(ratios):.2f} to {max(ratios):.2f}; "
              f"{by_ours} of {by_ours + passed} collectives replaced; medians of {self.arguments.iterations}; others {load.cores:.2f} cores", flush=True)


def ranges(text):
    """1-4,16: chunks of a block, from and to, a frontier each."""
    return [(int(part.split("-")[0]), int(part.split("-")[-1])) for part in text.split(",")]


def parsed():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("chorale")
    parser.add_argument("parts", nargs="*", choices=["check", "predict", "compare", "emitted", "library", []])
    parser.add_argument("--machines", type=lambda text: text.split(","), default=["ring8", "ring8slow", "two4", "dgx1l", "star8", "mesh2x4", "mesh2x4cut"])
    parser.add_argument("--collectives", type=lambda text: text.split(","), default=KINDS)
    parser.add_argument("--bytes", type=lambda text: text.split(","), default=["64K", "512K"])
    parser.add_argument("--unit", type=float)
    parser.add_argument("--chunks", type=ranges, default=[(1, 4), (16, 16)])
    parser.add_argument("--search", default="40s")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--conflicts", type=int, default=1000)
    arguments = parser.parse_args()
    arguments.parts = arguments.parts or ["predict", "compare"]
    arguments.chorale = str(pathlib.Path(arguments.chorale).resolve())
    return arguments


def studied(arguments):
    """The exit code."""
    reason = why_not()
    if reason:
        print(f"SKIPPED: no fabric here: {reason}", file=sys.stderr)
        return 77
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    mpi = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    print(f"{os.cpu_count()} hardware threads, {mpi}, kernel {os.uname().release}; commit {commit}; {time.strftime('%Y-%m-%d', time.gmtime())}; medians of "
          f"{arguments.iterations}", flush=True)
    failures = 0
    for name in arguments.machines:
        machine = machine_of(name, arguments.chorale, arguments.unit)
        with Network(machine) as network:
            study = Study(arguments, machine, network)
            study.check()  # before any number counts
            for part in arguments.parts:
                if part != "check":
                    getattr(study, part)()
            failures += study.failures
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["clean"]:
        print("\n".join(clean()) or "nothing was left")
        return 0
    arguments = parsed()
    for number in (signal.SIGINT, signal.SIGTERM):  # also where the caller has them ignored, as a shell's background jobs have SIGINT
        signal.signal(number, signal.default_int_handler)
    try:
        return studied(arguments)
    except Refused as error:
        print(f"fabric: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fabric: interrupted; all is taken down", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
