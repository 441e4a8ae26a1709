#!/usr/bin/env python3
"""Does the price order schedules as time does? All schedules that the tuner finds of each example (or --most of
them, evenly over the ranking) are compiled, a dozen as one program, with the pieces that it prices, and run on
threads in interleaved rounds; printed are the rank correlation (Spearman) of price and time, and where the schedule of the least price stands.

The time is that of the processor, by rank: where each rank has a core, which computes and moves (--beside 0), it
is what passes on a machine that does nothing else, and other work on this one does not count. Schedules with a
root are left out: they take one rank's processor, and the mean over ranks is half of it. Rates are given to
the tuner by --numbers; links have --link GB/s, at --latency us.

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
from report import spearman  # noqa: E402
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
parser.add_argument("--numbers", default="memory-rate=8,product-rate=0.004,compute-rate=0.004,launch=2,beside=0", help="of the tuner")
parser.add_argument("--link", type=float, default=8)
parser.add_argument("--latency", type=float, default=2)
parser.add_argument("--rows", action="store_true", help="print price, time and script of each")
arguments = parser.parse_args()
examples = pathlib.Path(__file__).resolve().parents[1] / "examples"
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_order_"))


def run(*command, cwd=work, codes=(0, )):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd)
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr or done.stdout}")
    return done.stdout


def machine(ranks):
    file = work / f"threads{ranks}.json"
    links = [{"src": a, "dst": b, "alpha_us": arguments.latency, "beta_us_per_byte": 1e-3 / arguments.link} for a in range(ranks) for b in range(ranks) if a != b]
    file.write_text(json.dumps({"topology": f"threads{ranks}", "ranks": ranks, "links": links}))
    return file


def compiled(name, options, candidates, number):
    """A program of schedules, which takes sizes and prints the time of each."""
    folder = work / f"{name}_{number}"
    folder.mkdir()
    for k, candidate in enumerate(candidates):
        run(arguments.chorale, "compile", examples / f"{name}.chorale", *options, "--target", "threads", "-o", folder / str(k),
            *(["--apply", candidate["script"]] if candidate["script"] else []))
        header = folder / str(k) / f"{name}.h"
        text = header.read_text()
        for each in candidate["execution"].get("pieces", []):  # without --tune pieces are those of the sizes
            text = text.replace(f"kPieces_{each['overlap']} = 0;", f"kPieces_{each['overlap']} = {each['pieces']};")
        header.write_text(text)
        for own in ("runtime", "tensor", "ir"):
            subprocess.run(["rm", "-rf", folder / str(k) / own] if (folder / own).exists() else ["mv", folder / str(k) / own, folder / own])
    main = MAIN.replace(', "--runs", "0"', "").replace("const int code =", "const std::clock_t begin = std::clock();\n      const int code =").replace(
        "if (code != 0)", 'std::printf("## took %ld\\n", static_cast<long>(std::clock() - begin));\n      if (code != 0)').replace("#include <string>", "#include <ctime>\n#include <string>")
    (folder / "every.cpp").write_text(main.format(includes="".join(INCLUDE.format(k=k, name=name) for k in range(len(candidates))),
                                                  mains=", ".join(f"main_{k}" for k in range(len(candidates)))))
    run("g++", *"-std=c++17 -O2 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -I. every.cpp -o threads -pthread".split(), cwd=folder)
    return folder


def order(name):
    groups = int((re.search(r"^groups (\d+)", (examples / f"{name}.chorale").read_text(), re.M) or [0, 1])[1])
    ranks = max(1, arguments.ranks // groups) if groups > 1 else arguments.ranks
    ranks = max(2, ranks)
    options = ["--machine", machine(ranks), "--ranks", ranks, *(word for size in SIZES[name] for word in ("--set", size))]
    numbers = [word for each in arguments.numbers.split(",") for word in ("--" + each.split("=")[0], each.split("=")[1])]
    found = json.loads(run(arguments.chorale, "tune", examples / f"{name}.chorale", *options, *numbers, "--json", "-", codes=(0, 3)))
    ranked = [found["candidates"][k] for k in found["ranking"] if "Rooted" not in found["candidates"][k]["script"]]
    if len(ranked) > arguments.most:
        ranked = [ranked[round(k * (len(ranked) - 1) / (arguments.most - 1))] for k in range(arguments.most)]
    folders = [compiled(name, options, ranked[first:first + 12], first) for first in range(0, len(ranked), 12)]
    times = [[] for _ in ranked]
    few, many = 2, 12
    asked = [",".join((*SIZES[name], "--runs", str(runs))) for runs in (few, many)]
    for _ in range(arguments.rounds):
        for number, folder in enumerate(folders):
            took = [int(each) for each in re.findall(r"## took (\d+)", run("./threads", *asked, cwd=folder))]
            for k, (less, more) in enumerate(zip(took[::2], took[1::2])):
                times[12 * number + k].append((more - less) / (many - few) / ranks / groups)
    prices, medians = [each["price_us"] for each in ranked], [statistics.median(each) for each in times]
    if arguments.rows:
        for price, us, each in sorted(zip(prices, medians, ranked), key=lambda row: row[1]):
            print(f"    {us:9.0f} us, predicted {price:9.0f}  {each['script'] or 'as it is'}")
    place = 1 + sum(each < medians[0] for each in medians)
    print(f"  {name:16} {len(ranked):3} schedules  {spearman(prices, medians):5.2f}  the one of the least price is "
          f"{place}. of {len(ranked)} by time, {medians[0] / min(medians):.2f} of the least; the slowest {max(medians) / min(medians):.2f}", flush=True)


print(f"rank correlation (Spearman) of price and processor time, {arguments.ranks} ranks as threads, median of {arguments.rounds} rounds of 10 runs")
for each in arguments.examples.split(","):
    order(each)
