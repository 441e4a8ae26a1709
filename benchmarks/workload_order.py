#!/usr/bin/env python3
"""Does the price order schedules as time does? All schedules that the tuner finds of each example (or --most of
them, evenly over the ranking) are compiled as their Makefile does, a dozen as one program, with the pieces that
it prices, and run on threads in interleaved rounds. Printed are the rank correlation (Spearman) of price and
time; the same over the pairs whose median times differ by more than the spread of either (its middle half of
rounds): Spearman's is the sum of products of rank differences over all pairs; and where the schedule of the
least price stands.

The time is that of the processor, by rank: where each rank has a core, which computes and moves (--beside 0), it
is what passes on a machine that does nothing else, and other work on this one does not count. Schedules with a
root are left out: they take one rank's processor, and the mean over ranks is half of it. The numbers of the tuner
are measured first, by programs of one operation, which are none of the examples.

Usage: workload_order.py CHORALE [--ranks 2] [--rounds 7] [--most 24] [--examples self_attention,mlp,moe,adam,lamb,pipeline]
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "fabric"))
from report import quantile, spearman  # noqa: E402
from workload_every import INCLUDE, MAIN  # noqa: E402

# With as few operations of products for each element as possible, so that what schedules differ in is seen.
SIZES = {"self_attention": ("B=8", "S=2048", "H=32"), "mlp": ("B=8", "S=2048", "H=32"), "moe": ("T=16384", "H=16", "F=16"), "adam": ("N=2097152", ),
         "lamb": ("N=2097152", ), "pipeline": ("B=8", "S=2048", "H=32")}

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("chorale", type=lambda p: str(pathlib.Path(p).resolve()))
parser.add_argument("--ranks", type=int, default=2)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--most", type=int, default=24)
parser.add_argument("--examples", default=",".join(SIZES))
parser.add_argument("--rows", action="store_true", help="print price, time and script of each")
arguments = parser.parse_args()
examples = pathlib.Path(__file__).resolve().parents[1] / "examples"
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_order_"))


def run(*command, cwd=work, codes=(0, )):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd)
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr or done.stdout}")
    return done.stdout


def machine(ranks, link_gbs, latency_us):
    file = work / f"threads{ranks}_{latency_us}.json"
    links = [{"src": a, "dst": b, "alpha_us": latency_us, "beta_us_per_byte": 1e-3 / link_gbs} for a in range(ranks) for b in range(ranks) if a != b]
    file.write_text(json.dumps({"topology": f"threads{ranks}", "ranks": ranks, "links": links}))
    return file


class Programs:
    """Schedules as one program, which takes sizes and prints the processor time of each. Each is a file, what
    `compile` takes with it, and the pieces that its overlaps hand over."""

    def __init__(self, name, schedules):
        self.folder, self.count = work / name, len(schedules)
        self.folder.mkdir()
        includes = ""
        for k, (file, words, pieces) in enumerate(schedules):
            run(arguments.chorale, "compile", file, *words, "--target", "threads", "-o", self.folder / str(k))
            header = self.folder / str(k) / f"{file.stem}.h"
            text = header.read_text()
            for overlap, number in pieces.items():  # without --tune they are the usual number
                text = text.replace(f"kPieces_{overlap} = 0;", f"kPieces_{overlap} = {number};")
            header.write_text(text)
            for own in ("runtime", "tensor", "ir"):
                subprocess.run(["rm", "-rf", self.folder / str(k) / own] if (self.folder / own).exists() else ["mv", self.folder / str(k) / own, self.folder / own])
            includes += INCLUDE.format(k=k, name=file.stem)
        driver = self.folder / "tensor/exchange/driver.h"  # the processor's time of all ranks in all runs, in the place of the least time
        driver.write_text("#include <ctime>\n" + driver.read_text().replace("double best = 1e30;", "transport_.barrier();\n    const std::clock_t begin = std::clock();\n    double best = 0;", 1).replace(
            "if (rank == 0 && options_.runs > 0)", "transport_.barrier();\n    best = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / options_.runs;\n    if (rank == 0 && options_.runs > 0)", 1))
        main = MAIN.replace(', "--runs", "0"', "")
        (self.folder / "every.cpp").write_text(main.format(includes=includes, mains=", ".join(f"main_{k}" for k in range(len(schedules)))))
        run("g++", *"-std=c++17 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -I. every.cpp -o threads -pthread".split(), cwd=self.folder)

    def times(self, sizes, ranks):
        """Of a run, by schedule: microseconds of a rank, the mean of 20."""
        printed = run("./threads", ",".join((*sizes, "--runs", "20")), cwd=self.folder)
        return [float(us) / ranks for us in re.findall(r"best of 20: (\S+) us", printed)]


# Elements read and written in memory; additions in a cache; a product; a sum over two ranks, long and short;
# and a product beside a short one.
ADDS, INNER, LONG, CACHED, ROWS = 100, 256, 1 << 21, 1 << 15, 1 << 9
NUMBERS = {
    "read": ("fp32", f"[{LONG}]", "out = a + b"),
    "add": ("fp32", f"[{CACHED}]", "out = a" + " + b" * ADDS),
    "product": ("fp16", f"[{ROWS}, {INNER}]", f"Tensor w(fp16, [{INNER}, {INNER}], Replicated)\nout = MatMul(a, w)"),
    "long": ("fp32", f"[{LONG}]", 'out = AllReduce("+", a)'),
    "short": ("fp32", "[64]", 'out = AllReduce("+", a)'),
    "beside": ("fp16", "[8, 8]", 'Tensor w(fp16, [8, 8], Replicated)\nlayer = MatMul(a, w)\nout = AllReduce("+", layer)'),
}


def numbers():
    """The words of the tuner, and the machine, by what two threads take."""
    schedules = []
    for name, (element, shape, text) in NUMBERS.items():
        file = work / f"of_{name}.chorale"
        operands = "".join(f"Tensor {each}({element}, {shape}, Local)\n" for each in "ab" if re.search(rf"\b{each}\b", text))
        file.write_text(f"workload of_{name}\nranks 2\n{operands}{text}\nreturn out\n")
        words = ["--machine", machine(2, 8, 2)]
        schedules.append((file, words, {}))
        if name == "beside":
            schedules.append((file, [*words, "--apply", "overlap(both; layer, out)"], {"both": 1}))
    programs = Programs("numbers", schedules)
    rounds = [programs.times((), 2) for _ in range(arguments.rounds)]
    read, add, product, long, short, apart, beside = (statistics.median(each) for each in zip(*rounds))
    found = {"memory-rate": 12e-3 * LONG / read, "compute-rate": 1e-6 * ADDS * CACHED / add, "product-rate": 2e-6 * ROWS * INNER * INNER / product,
             "launch": 0, "piece": max(0, beside - apart), "beside": 0}
    return found, 4e-3 * LONG / long, short


def order(name, words, link):
    groups = int((re.search(r"^groups (\d+)", (examples / f"{name}.chorale").read_text(), re.M) or [0, 1])[1])
    ranks = max(2, arguments.ranks // groups)
    options = ["--machine", machine(ranks, *link), "--ranks", ranks, *(word for size in SIZES[name] for word in ("--set", size))]
    found = json.loads(run(arguments.chorale, "tune", examples / f"{name}.chorale", *options, *words, "--json", "-", codes=(0, 3)))
    ranked = [found["candidates"][k] for k in found["ranking"] if "Rooted" not in found["candidates"][k]["script"]]
    if len(ranked) > arguments.most:
        ranked = [ranked[round(k * (len(ranked) - 1) / (arguments.most - 1))] for k in range(arguments.most)]
    schedules = [(examples / f"{name}.chorale", [*options, *(["--apply", each["script"]] if each["script"] else [])],
                  {piece["overlap"]: piece["pieces"] for piece in each["execution"].get("pieces", [])}) for each in ranked]
    programs = [Programs(f"{name}_{first}", schedules[first:first + 12]) for first in range(0, len(ranked), 12)]
    rounds = [[us for each in programs for us in each.times(SIZES[name], ranks * groups)] for _ in range(arguments.rounds)]
    times = list(zip(*rounds))
    prices, medians = [each["price_us"] for each in ranked], [statistics.median(each) for each in times]
    spreads = [quantile(each, 0.75) - quantile(each, 0.25) for each in times]
    if arguments.rows:
        for price, us, spread, each in sorted(zip(prices, medians, spreads, ranked), key=lambda row: row[1]):
            print(f"    {us:9.0f} +- {spread / 2:5.0f} us, predicted {price:9.0f}  {each['script'] or 'as it is'}")

    def apart(i, j):
        return abs(medians[i] - medians[j]) > max(spreads[i], spreads[j])

    def shown(value):
        return "   - " if value is None else f"{value:5.2f}"

    place = 1 + sum(each < medians[0] for each in medians)
    pairs = len(ranked) * (len(ranked) - 1) // 2
    print(f"  {name:16} {len(ranked):3} schedules  {shown(spearman(prices, medians))}, over the {sum(apart(i, j) for i in range(len(ranked)) for j in range(i))} of {pairs} "
          f"pairs that are apart {shown(spearman(prices, medians, apart))}; the one of the least price is {place}. of {len(ranked)} by time, "
          f"{medians[0] / min(medians):.2f} of the least; the slowest {max(medians) / min(medians):.2f}", flush=True)


measured, rate, latency = numbers()
print(f"two threads: links of {rate:.2f} GB/s at {latency:.2f} us; " + ", ".join(f"--{name} {value:.4g}" for name, value in measured.items()))
print(f"rank correlation (Spearman) of price and processor time, {arguments.ranks} ranks as threads, median of {arguments.rounds} rounds, each of 20 runs", flush=True)
for each in arguments.examples.split(","):
    order(each, [word for name, value in measured.items() for word in (f"--{name}", f"{value:.4g}")], (rate, latency))
