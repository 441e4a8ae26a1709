#!/usr/bin/env python3
"""AllReduce of GPUs on PCI alone: hand-made kernels' algorithms beside Chorale's, predicted, and the order of those that were
measured in public.

usage: benchmarks/pcie.py build/release/bin/chorale

First the orders. Three threads have tables of two or three algorithms by size: vllm pull 50941 (its table stands in vllm
50576), b12x pull 139, and pull 2 of sglang-V100 by haohervchb. A kernel's time is predicted as what its steps take over the
links of the machine by name (`chorale compare`), a call, and a flag for each peer that a rank awaits, one after the other.
The call and the flag are fitted on every other row of a table, and the other rows are counted apart; NCCL is the model of
`chorale baseline`, nothing of which is fitted here. Then, for five boxes and 4 KB to 1 MB, each algorithm over links alone,
the answer of `chorale optimize`, and the bound.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

CHORALE = pathlib.Path(sys.argv[1]).resolve()
work = pathlib.Path(tempfile.mkdtemp())

# Microseconds by bytes; of b12x rows are M x 7168 of two bytes.
K = 1024
MEASURED = [
    ("vllm 50941", "a800-pcie:2x4", "8 A800, 2 x 4", {
        "NCCL": [56.9, 63.8, 95.8, 64.7, 49.8, 132.2, 169.4, 160.4], "island one-shot": [46.5, 45.4, 45.6, 54.3, 64.5, 102.2, 174.8, 324.2],
        "island two-shot": [47.5, 47.9, 47.3, 49.6, 52.9, 66.7, 91.2, 143.0]}, [8 * K, 16 * K, 32 * K, 48 * K, 64 * K, 128 * K, 256 * K, 512 * K]),
    ("b12x 139", "rtx-pro-6000:4x4", "16 RTX PRO 6000, 4 x 4", {
        "NCCL": [36.07, 36.45, 39.65, 39.34], "leaders": [18.16, 30.36, 46.79, 63.25], "island two-shot": [20.51, 22.44, 26.03, 37.62]},
     [14336, 57344, 114688, 172032]),
    ("sglang-V100 2", "mi50-pcie:1x4", "4 V100, PCI 3, 1 x 4", {
        "NCCL": [19.4, 20.3, 22.3, 24.2, 51.8, 83.5], "one-shot": [4.0, 5.0, 7.2, 11.8, 44.5, 120.3]}, [4 * K, 8 * K, 16 * K, 32 * K, 128 * K, 384 * K]),
]
BOXES = ["pcie:1x4", "pcie:2x2", "pcie:2x4", "a800-pcie:2x4", "rtx-pro-6000:4x4"]


def chorale(*words, codes=(0, 3)):
    done = subprocess.run([CHORALE, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"chorale {' '.join(map(str, words))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def shape(machine):
    return tuple(int(n) for n in machine.partition(":")[2].split("x"))


def algorithm(name, islands, each):
    """(chunks, steps), of lists of (chunk, from, to, reduce); None where it is for other shapes."""
    ranks = range(islands * each)

    def island(n):
        return [m for m in ranks if m // each == n // each and m != n]

    def lane(n):
        return [m for m in ranks if m % each == n % each and m != n]
    if name == "one-shot":
        return 1, [[(0, a, b, True) for a in ranks for b in ranks if a != b]]
    if name == "two-shot":
        return len(ranks), [[(b, a, b, True) for a in ranks for b in ranks if a != b], [(a, a, b, False) for a in ranks for b in ranks if a != b]]
    if name == "ring":
        n = len(ranks)
        return n, ([[((a - 1 - s) % n, a, (a + 1) % n, True) for a in ranks] for s in range(n - 1)]
                   + [[((a - s) % n, a, (a + 1) % n, False) for a in ranks] for s in range(n - 1)])
    if islands == 1:
        return None
    if name == "island one-shot":
        return 1, [[(0, a, b, True) for a in ranks for b in island(a)], [(0, a, b, True) for a in ranks for b in lane(a)]]
    if name == "island two-shot":
        return each, [[(b % each, a, b, True) for a in ranks for b in island(a)], [(a % each, a, b, True) for a in ranks for b in lane(a)],
                      [(a % each, a, b, False) for a in ranks for b in island(a)]]
    if name == "leaders":
        heads = [n for n in ranks if n % each == 0]
        return 1, [[(0, a, a // each * each, True) for a in ranks if a % each], [(0, a, b, True) for a in heads for b in heads if a != b],
                   [(0, a, b, False) for a in heads for b in island(a)]]
    raise ValueError(name)


def rounds_of(topology, sends, links):
    load = [0] * len(topology["links"])
    for _, a, b, _ in sends:
        load[links[a, b]] += 1
    return max([-(-n // topology["links"][link]["bandwidth"]) for link, n in enumerate(load)]
               + [-(-sum(load[link] for link in limit["links"]) // limit["bandwidth"]) for limit in topology.get("limits", [])])


def result(machine, name):
    """A file of the algorithm on the machine, verified; the most peers that a rank awaits, step by step. None: of other shapes."""
    made = algorithm(name, *shape(machine))
    if made is None:
        return None
    chunks, steps = made
    file = work / f"{machine.replace(':', '_')}_{name.replace(' ', '_')}.json"
    chorale("classic", "direct_allreduce", machine, "--json", file)
    whole = json.loads(file.read_text())
    links = {(link["src"], link["dst"]): n for n, link in enumerate(whole["topology"]["links"])}
    point = whole["points"][0]
    schedule = []
    for sends in steps:
        schedule.append({"rounds": rounds_of(whole["topology"], sends, links),
                         "sends": [[c, a, b, links[a, b], *(["+"] if reduce else [])] for c, a, b, reduce in sorted(sends)]})
    point.update(steps=len(steps), rounds=sum(step["rounds"] for step in schedule), chunks=chunks, schedule=schedule, on_frontier=True, proven=False,
                 construction=name)
    point["does"].update(chunks=chunks)
    point.update(bound=[0, 1], gap=None)
    whole.update(claims=[], openings=[], complete=False, complete_chunks=0)
    whole["space"].update(min_chunks=chunks, max_chunks=chunks)
    file.write_text(json.dumps(whole))
    if "1 schedule verified" not in " ".join(chorale("check", "--all", file, codes=range(256)).split()):
        sys.exit(f"{name} is no AllReduce on {machine}")
    flags = sum(max(len({a for _, a, b, _ in sends if b == n}) for n in range(whole["topology"]["ranks"])) for sends in steps)
    return file, flags


def link_us(machine, name, sizes):
    """Over links alone, without the call; and the flags. None: of other shapes."""
    made = result(machine, name)
    if made is None:
        return None
    file, flags = made
    chorale("compare", file, file, "--sizes", ",".join(map(str, sizes)), "--json", work / "compared.json", "-q")
    call = json.loads(file.read_text())["topology"].get("call_us", 0)
    return [row["sides"][0]["us"] - call for row in json.loads((work / "compared.json").read_text())["sizes"][0]["rows"]], flags


def nccl_us(machine, sizes):
    gpu = {"mi50-pcie:1x4": ["V100", "--gpus", 4, "--joined", "pci", "--pci", 3]}.get(machine, [machine])
    chorale("baseline", *gpu[:1], "allreduce", *gpu[1:], "--sizes", ",".join(map(str, sizes)), "--json", work / "baseline.json", "-q")
    return [row["us"] for row in json.loads((work / "baseline.json").read_text())["rows"]]


def fit(rows):
    """Least squares of call + flags * flag over (flags, us), neither below 0."""
    n, f, ff = len(rows), sum(flags for flags, _ in rows), sum(flags ** 2 for flags, _ in rows)
    u, fu = sum(us for _, us in rows), sum(flags * us for flags, us in rows)
    flag = max(0, (n * fu - f * u) / (n * ff - f * f)) if n * ff != f * f else 0
    return (u - flag * f) / n, flag


def order(us, names):
    return sorted(names, key=lambda name: us[name])


def orders():
    """Rows whose order is right, of: the kernels by themselves, the kernels and NCCL; each of all and of rows that were not fitted on."""
    right = {(what, unseen): [0, 0] for what in ("kernels", "kernels and NCCL") for unseen in (False, True)}
    for thread, machine, box, measured, sizes in MEASURED:
        kernels = [name for name in measured if name != "NCCL"]
        links = {name: link_us(machine, name, sizes) for name in kernels}
        call, flag = fit([(links[name][1], measured[name][i] - links[name][0][i]) for name in kernels for i in range(0, len(sizes), 2)])
        predicted = {name: [us + call + links[name][1] * flag for us in links[name][0]] for name in kernels} | {"NCCL": nccl_us(machine, sizes)}
        print(f"{thread}: {box}, as {machine}; call {call:.1f} us, flag {flag:.1f} us for each peer awaited, fitted on rows 1, 3, ...")
        print(f"{'bytes':>8}  " + "".join(f"{name:>18}" for name in measured) + "  order")
        for i, size in enumerate(sizes):
            have, want = ({name: of[name][i] for name in measured} for of in (predicted, measured))
            words = []
            for what, names in (("kernels", kernels), ("kernels and NCCL", list(measured))):
                if len(names) < 2:
                    continue
                good = order(have, names) == order(want, names)
                words.append(f"{what}: {'right' if good else 'WRONG'}")
                for unseen in (False, True):
                    if not unseen or i % 2:
                        right[what, unseen][0] += good
                        right[what, unseen][1] += 1
            print(f"{size:8}  " + "".join(f"{want[name]:8.1f} {have[name]:8.1f} " for name in measured) + "  " + ", ".join(words))
        print()
    for (what, unseen), (good, all_rows) in right.items():
        print(f"order of {what}{', of rows that were not fitted on' if unseen else ''}: right in {good} of {all_rows} rows")


def table():
    sizes = [4 * K << n for n in range(9)]
    print("\nOver links, with the call of the box, us: measured by nothing")
    for machine in BOXES:
        chorale("optimize", machine, "allreduce", "--sizes", ",".join(map(str, sizes)), "--effort", 20, "--json", work / "best.json", "-q")
        rows = json.loads((work / "best.json").read_text())["rows"]
        columns = {}
        for name in ("one-shot", "two-shot", "ring", "island one-shot", "island two-shot", "leaders"):
            if made := link_us(machine, name, sizes):
                file = json.loads((work / f"{machine.replace(':', '_')}_{name.replace(' ', '_')}.json").read_text())
                columns[name] = [us + file["topology"].get("call_us", 0) for us in made[0]]
        print(f"{machine}\n{'bytes':>8}" + "".join(f"{name:>17}" for name in [*columns, "Chorale", "bound", "speedup"]))
        for i, size in enumerate(sizes):
            best = min(us[i] for us in columns.values())
            print(f"{size:8}" + "".join(f"{us[i]:17.2f}" for us in columns.values()) + f"{rows[i]['us']:17.2f}{rows[i]['bound_us']:17.2f}"
                  f"{best / rows[i]['us']:16.2f}x")


orders()
table()
