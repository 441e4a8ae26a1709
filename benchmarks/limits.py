#!/usr/bin/env python3
"""What a limit costs on machines of 16 to 4,096 ranks: wall and CPU seconds of the command, how late it ends
after its limit or a Ctrl-C by the clock and in CPU (a busy machine has other clocks), the seconds that it
prints, the memory that it had, its exit code, whether the file that it promised is whole, and, of a frontier,
what it found: the least rounds per chunk, and how far the bound of any chunk count is below. The last lines
have the median and the worst of how late commands were, and the largest page.
Limits are seconds, sizes (300M: --memory-limit) or seconds until a Ctrl-C (^3). Without a limit (-) the
command is interrupted after --patience seconds, which the line states (>).

Usage: limits.py CHORALE [--commands NAME...] [--limits 1 3 10 300M ^3] [--patience 30] [--machines NAME...] [--collectives NAME...]

Exit code 1 where a command took more than a second of CPU after its limit on each of its threads, printed other
seconds than it took, ended with another code than 3 (0: it was done before) or (by Ctrl-C) 130, wrote more than
one line of complaint or a page of a megabyte, or left a part of a file.
"""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("chorale")
parser.add_argument("--commands", nargs="*", default=["frontier"], help="or all")
parser.add_argument("--limits", nargs="*", default=["1", "3", "10"])
parser.add_argument("--patience", type=float, default=30, help="without a limit; 0: not without")
parser.add_argument("--machines", nargs="*", default=["dgx1:8", "torus:8x8", "dgx2:4", "leaf-spine:8x8x4", "dgx1:32", "torus:16x16"],
                    help="random:N is a random machine of N ranks with four links each")
parser.add_argument("--collectives", nargs="*", default=["allgather", "allreduce", "alltoall", "broadcast"])
asked = parser.parse_args()
chorale = str(pathlib.Path(asked.chorale).resolve())
here = pathlib.Path(__file__).resolve().parent.parent
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_limits_"))


def machine_of(name):
    """What a command line calls it."""
    if not name.startswith("random:"):
        return name
    ranks = int(name[7:])
    draw = random.Random(ranks)
    while True:  # two cycles through all ranks that have no link in common
        cycles = [draw.sample(range(ranks), ranks) for _ in range(2)]
        pairs = {tuple(sorted((c[i], c[i - 1]))) for c in cycles for i in range(ranks)}
        if len(pairs) == 2 * ranks:
            break
    links = [{"src": a, "dst": b} for pair in sorted(pairs) for a, b in (pair, pair[::-1])]
    file = work / f"random_{ranks}.json"
    file.write_text(json.dumps({"topology": f"random_{ranks}", "ranks": ranks, "links": links}))
    return str(file)


def made(name, *command):
    """The file that a command makes, once, in the time that it takes."""
    file = work / name.replace("/", "_")
    if not file.exists():
        subprocess.run([chorale, *command, "--json" if command[0] != "library" else "-o", str(file)], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=600)
    return str(file)


def ranks_of(machine):
    shown = subprocess.run([chorale, "topology", "show", machine], capture_output=True, text=True).stdout
    return int(re.search(r"([0-9]+) ranks", shown)[1])


def order_for(machine):
    file = work / f"order_{machine}.json".replace("/", "_")
    file.write_text(json.dumps({"machines": [machine], "collectives": ["allgather", "allreduce"], "groups": ["all"], "bytes": [1024, 1 << 20],
                                "max_chunks": 1, "conflicts": 1000}))
    return str(file)


def layouts_for(machine):
    """From shards on half of the ranks to other shards on all, twice over."""
    file, ranks = work / f"layouts_{machine}.json".replace("/", "_"), ranks_of(machine)
    file.write_text(json.dumps({"reshard": "halves", "from": {"ranks": list(range(ranks // 2)), "mesh": [ranks // 2]},
                                "to": {"ranks": list(range(ranks)), "mesh": [2, ranks // 2]},
                                "tensors": [{"name": "w", "shape": [1024, 1024], "element_bytes": 2, "count": 8, "from": ["shard(0)"], "to": ["replicate", "shard(1)"]}]}))
    return str(file)


def result_of(machine, collective="allreduce"):
    """One that takes long to check, show and emit: of all points that a composition has."""
    file = made(f"result_{machine}_{collective}.json", "compose", machine, collective, "--max-chunks", "4", "--time-limit", "60")
    if not pathlib.Path(file).exists():
        file = made(f"found_{machine}_{collective}.json", "frontier", machine, collective, "--max-chunks", "4", "--time-limit", "20")
    return file


def library_of(machine):
    return made(f"library_{machine}.db", "library", "build", order_for(machine), "--time-limit", "20", "-q")


# Of a machine: the command lines, each with the option by which it writes a file (none: it does not).
def command_lines(name, machine):
    collectives = asked.collectives
    sums = [c for c in collectives if c != "alltoall"]
    program = str(here / "examples" / "adam.chorale")
    return {
        "frontier": lambda: [(["frontier", machine, c], "--json") for c in collectives],
        "many-chunks": lambda: [(["frontier", machine, c, "--min-chunks", "64", "--max-chunks", "64"], "--json") for c in collectives],
        "synthesize": lambda: [(["synthesize", machine, c], "--json") for c in collectives],
        "compose": lambda: [(["compose", machine, c], "--json") for c in sums],
        "bounds": lambda: [(["bounds", machine, c, "--chunks", "3"], None) for c in collectives],
        "classic": lambda: [(["classic", each, machine], "--json") for each in
                            ("multi_ring_allreduce", "two_tree_allreduce", "direct_alltoall")],
        "check": lambda: [(["check", result_of(machine)], "--json")],
        "show": lambda: [(["show", result_of(machine)], "--html"), (["show", result_of(machine), "--bytes", "1K:1G:2"], "--json")],
        "emit": lambda: [(["emit", result_of(machine), "--target", t], "-o") for t in ("mpi", "msccl-xml", "cuda", "html", "dot")],
        "run": lambda: [(["run", result_of(machine), "--bytes", "1K:1M:4", "--point", "all"], None)],
        "compile": lambda: [(["compile", program, "--ranks", str(ranks_of(machine)), "--machine", machine, "--target", "mpi"], "-o")],
        "tune": lambda: [(["tune", program, "--ranks", str(ranks_of(machine)), "--machine", machine], "--json")],
        "topology": lambda: [(["topology", "show", machine], None)],
        "library": lambda: [(["library", "build", order_for(machine)], "-o"), (["library", "verify", library_of(machine)], None),
                            (["library", "select", library_of(machine), machine, "allgather"], "--json")],
        "optimize": lambda: [(["optimize", machine, c], "-o") for c in collectives],
        "compare": lambda: [(["compare", machine, f"ring:{ranks_of(machine)}", c, "--sizes", "1K:1G:4", "--search-time", "60"], "--html") for c in collectives],
        "reshard": lambda: [(["reshard", machine, layouts_for(machine), "--search-time", "60"], "--json")],
        "page": lambda: [(["show", result_of(machine, c)], "--html") for c in collectives] + [(["topology", "show", machine], "--html")],
        "place": lambda: [(["place", machine, "--axes", f"d={ranks_of(machine) // 8},t=8", "--reduce", "t", "--bytes", "1G"], "--html")],
    }[name]()


COMMANDS = ["frontier", "many-chunks", "synthesize", "compose", "bounds", "classic", "check", "show", "emit", "run", "compile", "tune",
            "topology", "library", "place", "optimize", "compare", "reshard", "page"]


def whole(path):
    """Is what was promised there whole? None: it is not there at all."""
    if not path.exists():
        return None
    if path.is_dir():
        return all(whole(file) for file in path.iterdir()) if any(path.iterdir()) else None
    if path.suffix == ".json" and path.stat().st_size > 1 << 24:  # the next process would start with the memory that it takes here
        with path.open("rb") as file:
            file.seek(-16, os.SEEK_END)
            return file.read().rstrip().endswith(b"}")
    text = path.read_bytes()
    if path.suffix == ".json":
        try:
            json.loads(text)
        except ValueError:
            return False
    return not text or (text.rstrip().endswith(b"</html>") if path.suffix == ".html" else True)


def measured(machine, line, option, limit):
    out = work / ("out" + {"--json": ".json", "--html": ".html", None: ""}.get(option, ".db" if "library" in line else ""))
    subprocess.run(["rm", "-rf", str(out)])
    seconds = float(limit.lstrip("^")) if limit and limit[-1].isdigit() else 0
    command = [chorale, *line] + ([option, str(out)] if option else [])
    if limit and not limit.startswith("^"):
        command += ["--time-limit", f"{round(seconds * 1000)}ms"] if seconds else ["--memory-limit", limit]
    patience = seconds if limit.startswith("^") else seconds + 60 if limit else asked.patience
    at_limit = [0.0]

    def note(process):
        try:
            fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            at_limit[0] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
        except OSError:  # it has ended
            pass

    def interrupt(process):
        note(process)
        process.send_signal(signal.SIGINT)

    started = time.monotonic()
    with subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        late = threading.Timer(patience, interrupt, [process])
        late.start()
        limited = threading.Timer(seconds, note, [process])
        if not limit.startswith("^"):
            limited.start()
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cut = not late.is_alive()
        late.cancel()
        limited.cancel()
    wall, cpu = time.monotonic() - started, usage.ru_utime + usage.ru_stime
    complaints = text.count("chorale: error: ")
    size = out.stat().st_size if option == "--html" and out.exists() else 0
    size = max([size, *(page.stat().st_size for page in out.glob("**/*.html"))]) if out.is_dir() else size
    if size:
        pages.append((size, machine, " ".join(line[:2])))
    text = " ".join(text.split())
    told = re.search(r"; ([0-9.]+) s(?:, [0-9]+ conflicts?)?(?: wrote \S+)?$", text)
    bound = re.search(r"no schedule of any chunk count has fewer than ([0-9/]+).*?the best here has (no|[0-9.]+ %) more", text)
    told = float(told[1]) if told else float("nan")
    kept = {None: "-", True: "whole", False: "torn"}[whole(out) if option else None]
    what = " ".join([line[0]] + [w for w in line[1:] if w in asked.collectives or line[0] in ("emit", "library", "classic")])
    what = what if len(what) < 31 else " ".join(w for w in what.split() if "/" not in w)
    is_late = bool(limit) and seconds > 0 and wall > seconds
    after, cpu_after = (wall - seconds, cpu - at_limit[0]) if is_late else (0.0, 0.0)
    if limit and seconds:
        lateness.append((after, cpu_after, machine, what, limit))
    print(f"{machine:<18}{what[:30]:<31}{limit or '-':>6}{'>' if cut else ' '}{wall:8.2f}{cpu:8.2f}{after:7.2f}{cpu_after:8.2f}{told:8.1f}"
          f"{usage.ru_maxrss / 1024:9.0f}{process.returncode:5} {kept:<6}  {bound[1] if bound else '-':>9}  {bound[2] if bound else '-'}",
          flush=True)
    if process.returncode == 2:
        return True  # not of this machine
    codes = (0, 3, 20) if limit and not limit.startswith("^") else (0, 20, 130)
    return not limit or (cpu_after <= threads and kept != "torn" and process.returncode in codes and complaints <= 1 and size < 1_000_000
                         and not told > wall + 0.1)


threads = min(os.cpu_count() or 1, 4)
lateness, pages = [], []
print("$ nproc; uptime\n" + subprocess.run("nproc; uptime", shell=True, capture_output=True, text=True).stdout +
      f"{'machine':<18}{'command':<31}{'limit':>6} {'wall':>8}{'CPU':>8}{'late':>7}{'its CPU':>8}{'told':>8}{'MiB':>9}{'exit':>5} {'file':<6}  {'bound':>9}  more than the bound")
fine = [measured(machine, line, option, limit) for command in (COMMANDS if asked.commands == ["all"] else asked.commands)
        for machine in asked.machines for line, option in command_lines(command, machine_of(machine))
        for limit in asked.limits + ([""] if asked.patience else [])]
if lateness:
    for name, at in (("by the clock", 0), ("of CPU", 1)):
        worst = max(lateness, key=lambda each: each[at])
        print(f"seconds {name} after the limit, of {len(lateness)}: median {statistics.median(each[at] for each in lateness):.2f}, "
              f"worst {worst[at]:.2f} ({worst[2]}, {worst[3]}, {worst[4]})")
if pages:
    print("the largest of {} pages: {} bytes ({}, {})".format(len(pages), *max(pages)))
print(f"{fine.count(False)} of {len(fine)} took longer than they may, print other seconds than they took, or leave half a file")
subprocess.run(["rm", "-rf", str(work)])
sys.exit(0 if all(fine) else 1)
