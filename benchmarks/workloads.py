#!/usr/bin/env python3
"""What workloads are to show on a machine without GPUs.

  explore   seconds to explore all schedules of each example, and the best one
  right     every schedule of every example that the tuner finds (or the best K), compiled and run on threads and under mpirun, in
            odd and even sizes: all results are those of the program as it is, bit by bit
  every     every schedule of every example on 8 ranks, in the same sizes, the best of an optimizer also at 2^24: --state FILE keeps what
            was done, so that it goes on where it ended
  scattered Adam and LAMB over the tensors of BERT-large, each where it lies, against one tensor: how much longer
  fabric    Adam and LAMB as AR-Opt and as fuse(RS-Opt-AG) over an emulated fabric of 4 ranks (benchmarks/fabric; root), links of --units
            Mbit/s: the slower, the more of the time is communication, which both have as much of
  fused     time of the schedules of an optimizer that the paper has, interleaved in one run, against the bytes that they move
            between memory and registers by the model: large arrays, ranks as threads

Usage: workloads.py CHORALE [explore] [right [--schedules K --examples adam,lamb]] [fused [--elements 16M --ranks 2 --rounds 7]]
                    [every --state FILE [--minutes 60 --large 4 --examples adam,lamb]]
                    [scattered [--layers 24 --hidden 1024 --ranks 2 --rounds 7]]
                    [fabric [--elements 1M --units 50,200,800 --rounds 5]]
"""
import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import types

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("chorale", type=lambda p: str(pathlib.Path(p).resolve()))
parser.add_argument("parts", nargs="*", choices=["explore", "right", "fused", "every", "fabric", "scattered", []])
parser.add_argument("--schedules", type=int, default=4, metavar="K")
parser.add_argument("--elements", default="16M")
parser.add_argument("--ranks", type=int, default=2)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--units", type=lambda text: [float(unit) for unit in text.split(",")], default=[50, 200, 800])
parser.add_argument("--layers", type=int, default=24)
parser.add_argument("--hidden", type=int, default=1024)
parser.add_argument("--state", default="workloads_every.json")
parser.add_argument("--minutes", type=float, default=60)
parser.add_argument("--batch", type=int, default=12)
parser.add_argument("--large", type=int, default=0)
parser.add_argument("--examples", default="")
arguments = parser.parse_args()
parts = arguments.parts or ["explore", "right", "fused"]
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1", MAKEFLAGS="")
examples = [example for example in sorted((pathlib.Path(__file__).resolve().parents[1] / "examples").glob("*.chorale"))
            if not arguments.examples or example.stem in arguments.examples.split(",")]
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_workloads_"))
failed = 0


def run(*command, cwd=work, codes=(0,)):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd)
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr or done.stdout}")
    return done.stdout


def tuned(example, *options):
    return json.loads(run(arguments.chorale, "tune", example, "--json", "-", *options, codes=(0, 3)))


def made(name, example, ranks, script, target, *options):
    folder = work / name
    run(arguments.chorale, "compile", example, "--machine", f"ring:{ranks}", "--ranks", ranks, "-o", folder,
        *(["--apply", script] if script else []), *options)
    run("make", "-s", *target, cwd=folder)
    return folder


def explore():
    print("explored: example, ranks, schedules, seconds, predicted gain over the program as it is, best schedule")
    for example in examples:
        for ranks in (4, 8):
            own = settings(as_many_as_ranks(example, ranks))
            found = tuned(example, "--machine", f"ring:{ranks}", "--ranks", ranks, *own)
            best = found["candidates"][found["ranking"][0]]
            print(f"  {example.stem:16} {ranks}  {len(found['candidates']):5}  {found['seconds']:.3f}  "
                  f"{found['candidates'][0]['price_us'] / best['price_us']:.2f}  {best['script'] or 'as it is'}", flush=True)


def sizes_of(example):
    """Names and values, as the file has them."""
    lines = [line for line in example.read_text().splitlines() if line.startswith("size")]
    return re.findall(r"(?:^size |, )(\w+) = (\S+?)(?=,| |$)", "\n".join(lines))


def as_many_as_ranks(example, ranks):
    """Sizes that the file gives as many as its ranks, such as experts."""
    own = (re.search(r"^ranks (\d+)", example.read_text(), re.M) or [0, ""])[1]
    return {name: ranks for name, value in sizes_of(example) if value == own}


CUT = {"T": (24, 96), "h": (24, 48)}  # tokens and heads, which the ranks get as many of


def settings(sizes):
    return [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]


def whole(example, ranks):
    """Options for sizes that not every number of ranks divides."""
    cut = {name: CUT[name][1] for name, _ in sizes_of(example) if name in CUT}
    return settings({**cut, **as_many_as_ranks(example, ranks)})


def shapes(example, ranks):
    """Sizes to run with: small, odd where all sides may be, and larger."""
    names = [name for name, _ in sizes_of(example)]
    if names == ["N"]:
        return [["N=1024"], ["N=1001"], ["N=65537"], ["N=1048576"]]
    given = {**CUT, **{name: (each, each) for name, each in as_many_as_ranks(example, ranks).items()}}
    return [[f"{n}={given.get(n, (2 + 3 * k, 9 + 4 * k))[turn]}" for k, n in enumerate(names)] for turn in (0, 1)]


def right():
    global failed
    ran = schedules = 0
    for example in examples:
        groups = int((re.search(r"^groups (\d+)", example.read_text(), re.M) or [0, 1])[1])
        found = tuned(example, "--machine", "ring:3", "--ranks", 3, *whole(example, 3))
        scripts = [""] + [found["candidates"][k]["script"] for k in found["ranking"] if found["candidates"][k]["script"]]
        expected = {}
        for number, script in enumerate(scripts[:arguments.schedules + 1]):
            try:
                folder = made(f"{example.stem}_{number}", example, 3, script, ["threads", "mpi"], *whole(example, 3))
            except RuntimeError as error:
                failed += 1
                print(f"{example.stem}: {script}: {error}")
                continue
            schedules += 1
            for sizes in shapes(example, 3):
                for start in (["./" + next(folder.glob("*_threads")).name],
                              ["mpirun", "--oversubscribe", "-n", 3 * groups, "./" + next(folder.glob("*_mpi")).name]):
                    try:
                        text = run(*start, *sizes, "--runs", 0, cwd=folder)
                    except RuntimeError as error:
                        failed += 1
                        print(f"{example.stem}: {script}: {error}")
                        continue
                    ran += 1
                    sums = dict(re.findall(r"^(\w+): (.*)$", text, re.M))
                    for name, want in expected.setdefault(tuple(sizes), sums).items():
                        if sums.get(name, want) != want:
                            failed += 1
                            print(f"{example.stem} {' '.join(sizes)} {start[0]}: {name} is {sums[name]}, not {want}: {script}")
    print(f"right: {ran} runs of {schedules} schedules of {len(examples)} examples on 3 ranks (of a group), {failed} failed or different",
          flush=True)


OPTIMIZERS = {
    "adam": {"AR-Opt, an operation a loop": "",
             "AR-Opt": "fuse(opt; avg, m_, v_, m1, v1, p_)",
             "RS-Opt-AG": "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v); "
                          "fuse(opt; s_avg, s_m_, s_v_, s_m1, s_v1, s_p_)",
             "fuse(RS-Opt-AG)": "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v); "
                                "fuse(all; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)"},
    "sgd": {"AR-Opt, an operation a loop": "",
            "AR-Opt": "fuse(opt; v_, p_)",
            "RS-Opt-AG": "split(sum, rs); reorder(sum; v_, p_); asSlice(v); fuse(opt; s_v_, s_p_)",
            "fuse(RS-Opt-AG)": "split(sum, rs); reorder(sum; v_, p_); asSlice(v); fuse(all; rs, s_v_, s_p_, p_)"}}


def fused():
    for name, scripts in OPTIMIZERS.items():
        example = next(e for e in examples if e.stem == name)
        folders, moved, times = {}, {}, {schedule: [] for schedule in scripts}
        for number, (schedule, script) in enumerate(scripts.items()):
            folders[schedule] = made(f"{name}_time_{number}", example, arguments.ranks, script, ["threads"], "--set", f"N={arguments.elements}")
            price = tuned(example, "--machine", f"ring:{arguments.ranks}", "--ranks", arguments.ranks, "--set", f"N={arguments.elements}",
                          "--candidates", 0, "--memory-rate", 1e-3, *(["--apply", script] if script else []))
            units = [unit for each in price["candidates"][0]["runs"] for unit in each["units"]]
            moved[schedule] = sum(unit["memory_us"] for unit in units)
        elements = int(re.search(r"N = (\d+)", (folders["AR-Opt"] / f"{name}.h").read_text())[1])
        for _ in range(arguments.rounds):
            for schedule, folder in folders.items():
                times[schedule].append(float(re.search(r"best of 3: ([\d.]+) us", run(f"./{name}_threads", "--runs", 3, cwd=folder))[1]))
        print(f"{name}, {arguments.elements} elements of float32, {arguments.ranks} ranks as threads, median of {arguments.rounds} rounds, "
              "interleaved, each the best of 3:")
        base = "AR-Opt"
        for schedule in scripts:
            ratios = sorted(a / b for a, b in zip(times[base], times[schedule]))
            print(f"  {schedule:28} {statistics.median(times[schedule]) / 1e3:8.1f} ms   {statistics.median(ratios):.2f} times {base} "
                  f"({ratios[0]:.2f} to {ratios[-1]:.2f}); bytes of memory a rank and element {moved[schedule] / elements:5.1f}, "
                  f"{moved[base] / moved[schedule]:.2f} times", flush=True)


def tools():
    return types.SimpleNamespace(chorale=arguments.chorale, work=work, run=run, tuned=tuned, whole=whole, shapes=shapes, examples=examples)


def scattered():
    global failed
    import workload_scattered
    failed += workload_scattered.scattered(tools(), arguments.layers, arguments.hidden, arguments.ranks, arguments.rounds)


def fabric():
    import workload_fabric
    workload_fabric.fabric(tools(), arguments.elements, arguments.units, arguments.rounds)


def every():
    global failed
    from workload_every import Every
    all_of_them = Every(tools(), argparse.Namespace(**{**vars(arguments), "ranks": 8}))
    all_of_them.work()
    failed += all_of_them.report()


model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
print(f"machine: {model[1] if model else platform.machine()}, {os.cpu_count()} hardware threads; commit {commit}; "
      f"{time.strftime('%Y-%m-%d', time.gmtime())}", flush=True)
for part in parts:
    globals()[part]()
sys.exit(1 if failed else 0)
