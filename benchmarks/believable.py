#!/usr/bin/env python3
"""How right the model of what NCCL and RCCL take is (chorale baseline), against measured tables.

Usage: believable.py CHORALE FILE [--ours SECONDS] [--svg FILE]

FILE has a table a line (tests/data/measured/curves.jsonl): id, machine, gpus_per_node, nodes, gpu, intra,
nics_per_node, nic_gbits, collective, library, note, rows of bytes with time_us or busbw. Each machine becomes facts
for the program (facts_of), which predicts; nothing is predicted here. --ours: also searches for so many seconds
where the catalogue has the machine, and compares the bound with what was measured.

Prints median and worst error by table, collective and size, rows off by more than a factor of two, and as its last
line: from 1 MiB: median X %; below: median Y %; worst Z x (ID)
"""
import argparse
import collections
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

CALLS = {"allreduce": "allreduce", "allgather": "allgather", "reducescatter": "reducescatter", "alltoall": "alltoall", "broadcast": "broadcast",
         "reduce": "reduce", "sendrecv": "sendrecv"}
# A GPU of the table of facts for each word of a table, the first that fits; the last word is for all others.
GPUS = [("MI35", "MI355X"), ("MI325", "MI325X"), ("MI3", "MI300X"), ("MI2", "MI250X"), ("MI1", "MI100"), ("GB10", "GB10"), ("GB300", "GB300"), ("B300", "B300"),
        ("GB200", "GB200"), ("B200", "B200"), ("GH200", "GH200"), ("H200", "H200"), ("H20", "H20"), ("H100", "H100"), ("H800", "H100"), ("A100", "A100"), ("A800", "A100"),
        ("V100", "V100"), ("P100", "P100"), ("T4", "T4"), ("L40", "L40S"), ("A6000", "RTX A6000"), ("5090", "RTX PRO 6000"), ("PRO", "RTX PRO 6000"),
        ("6000D", "RTX PRO 6000"), ("RTX", "L40S"), ("", "A100")]
NETWORKS = [("slingshot", "Slingshot"), ("p3dn", "EFA"), ("p4d", "EFA"), ("g4dn", "EFA"), ("efa v1", "EFA"), ("efa", "EFA 2"), ("p5", "EFA 2"), ("p6-", "EFA 2"),
            ("tcpx", "TCPX"), ("roce", "RoCE"), ("infiniband", "InfiniBand"), ("ndr", "InfiniBand"), ("hdr", "InfiniBand")]
# Catalogue: GPU, GPUs of a node.
NAMES = {("A100", 8): "dgx-a100", ("H100", 8): "dgx-h100", ("H200", 8): "dgx-h100", ("H20", 8): "dgx-h100", ("B200", 8): "b200", ("B300", 8): "b200",
         ("GB200", 72): "gb200-nvl72", ("MI300X", 8): "mi300x", ("MI325X", 8): "mi300x", ("MI355X", 8): "mi355x"}
MOST_RANKS_SEARCHED = 32
MI = 1 << 20


def bus_factor(call, ranks):
    return {"allreduce": 2 * (ranks - 1) / ranks, "broadcast": 1, "reduce": 1, "sendrecv": 1}.get(call, (ranks - 1) / ranks)


def first(pairs, words, default=""):
    return next((value for word, value in pairs if word in words), default)


class Table:
    """A table of measurements: what was asked, and [(bytes, microseconds)], the mean of in and out of place."""

    def __init__(self, text):
        self.facts = json.loads(text)
        get = self.facts.get
        self.id, self.gpus, self.nodes = get("id", "?"), int(get("gpus_per_node") or 1), int(get("nodes") or 1)
        self.call = CALLS.get(re.sub("[^a-z]", "", (get("collective") or "").lower()), "allreduce")
        self.note = get("note") or ""
        self.gpu = first(GPUS, (get("gpu") or "").upper().replace("GB10 ", "GB10"))
        times = collections.defaultdict(list)
        for row in get("rows") or []:
            us, bus, size = row.get("time_us"), row.get("busbw"), row.get("bytes")
            if not us and bus and size:
                us = size * bus_factor(self.call, self.gpus * self.nodes) / bus / 1e3
            if us and size:
                times[int(size)].append(us)
        self.rows = [(size, statistics.mean(each)) for size, each in sorted(times.items())]
        self.doubtful = "DOUBTFUL" in self.note

    def words(self, *names):
        return " ".join(str(self.facts.get(name) or "") for name in names).lower()

    def options(self):
        """The facts, as options of 'chorale baseline'."""
        words, all_words = self.words("machine", "intra", "library"), self.words("machine", "intra", "library", "note")
        options = ["--gpus", self.gpus, "--nodes", self.nodes]
        pcie = "pcie" in self.words("gpu") or self.gpu in ("T4", "L40S", "RTX PRO 6000", "RTX A6000")
        if "bridge" in words and "no nvlink bridge" not in words:
            options += ["--joined", "mesh", "--links", first([(f"{n} links", n) for n in (4, 12)], words, 12)]
        elif pcie:
            host = re.search("no p2p|host memory|through memory|p2p disabled|p2p off", words)
            options += ["--joined", "host" if host else "pci"]
            generation = re.search(r"pcie (?:gen ?)?(\d)", words)
            if generation:
                options += ["--pci", min(6, max(1, int(generation[1])))]
        elif "nvswitch" in words:
            options += ["--joined", "switch"]
        elif re.search("mesh|all-to-all", words) and "cube" not in words:
            options += ["--joined", "mesh"]
        elif "cube" in words:
            options += ["--joined", "mesh", "--links", 6]
        elif self.gpu in ("GH200", "P100", "V100"):
            options += ["--joined", "mesh"]
        if self.nodes > 1:
            network = first(NETWORKS, all_words, "RoCE" if self.gpu.startswith("MI") or self.gpu == "GB10" else "InfiniBand")
            options += ["--network", network]
            for option, name in (("--nics", "nics_per_node"), ("--nic-gbits", "nic_gbits")):
                if self.facts.get(name):
                    options += [option, self.facts[name]]
            if "no gpudirect" in all_words:
                options.append("--host-copies")
        started = "one process" in words and "process per" not in words or re.search(r"\(-g \d|-g \d", words) or re.search("(in|from) one process|single-process", self.words("note"))
        if started and "process per" not in words:
            options.append("--one-process")
        if "nvls_enable=0" in all_words:
            options.append("--no-nvls")
        forced = re.search(r"nccl_algo=(ring|tree|nvlstree|nvls)\b", words)
        if forced or "tree_threshold=0" in words:
            options += ["--algorithm", {"ring": "Ring", "tree": "Tree", "nvls": "NVLS", "nvlstree": "NVLSTree"}[forced[1] if forced else "ring"]]
        return [str(option) for option in options]

    def name(self):
        """Of the catalogue; "" where it has none, or the machine is large."""
        if "cube" in self.words("intra") and self.gpus == 8:
            name = "dgx1"
            return name if self.nodes == 1 else f"{name}:{self.nodes}"
        name = NAMES.get((self.gpu, self.gpus))
        return f"{name}:{self.nodes}" if name and self.gpus * self.nodes <= MOST_RANKS_SEARCHED else ""


def asked(chorale, arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([chorale, *arguments, "--json", file.name], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            return None, done.stderr.strip()
        return json.loads(pathlib.Path(file.name).read_text()), ""


def predicted(chorale, table):
    sizes = ",".join(str(size) for size, _ in table.rows)
    answer, why = asked(chorale, ["baseline", table.gpu, table.call, *table.options(), "--sizes", sizes])
    if answer is None:
        print(f"{table.id}: not predicted: {why}")
        return {}
    return {row["message_bytes"]: row for row in answer["rows"]}


def ours(chorale, table, seconds, kept):
    """Searched once for each machine and collective, at all sizes of their tables."""
    name = table.name()
    if not name or table.call == "sendrecv" or not seconds:
        return {}
    sizes = [size for size, _ in table.rows if size >= 64]
    key = (name, table.call, tuple(sizes))
    if key not in kept:
        answer, _ = asked(chorale, ["optimize", name, table.call, "--search-time", f"{seconds}s", "--sizes", ",".join(map(str, sizes))]) if sizes else (None, "")
        kept[key] = {row["message_bytes"]: row for row in answer["rows"]} if answer else {}
    return kept[key]


def size_class(size):
    return "below 64 KiB" if size < 64 << 10 else "64 KiB to 1 MiB" if size < MI else "1 to 32 MiB" if size < 32 * MI else "32 MiB to 1 GiB" if size < 1024 * MI else "from 1 GiB"


def percent(errors):
    return f"{100 * statistics.median(errors):5.1f} %"


def factor(row):
    return max(row["ratio"], 1 / row["ratio"])


def by(rows, key, title):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    print(f"\n{title:<28} {'rows':>5}  {'median':>7}  {'worst':>6}")
    for name, group in sorted(groups.items(), key=lambda each: str(each[0])):
        print(f"{name:<28} {len(group):>5}  {percent([abs(r['ratio'] - 1) for r in group])}  {max(map(factor, group)):5.2f}x")


def drawn(rows, path):
    """Predicted over measured time, by size: the lines are 0.5x, 1x and 2x."""
    def x(size):
        return 60 + 680 * math.log2(max(size, 4) / 4) / 33

    def y(ratio):
        return 160 - 60 * math.log2(min(max(ratio, 0.2), 5))
    dots = "".join(f'<circle cx="{x(r["bytes"]):.1f}" cy="{y(r["ratio"]):.1f}" r="2.2" class="{"fitted" if r["fitted"] else "others"}"/>' for r in rows)
    lines = "".join(f'<line x1="60" x2="740" y1="{y(v)}" y2="{y(v)}"/><text x="52" y="{y(v) + 4}" text-anchor="end">{v:g}x</text>' for v in (0.5, 1, 2))
    ticks = "".join(f'<text x="{x(size):.0f}" y="318" text-anchor="middle">{name}</text>' for size, name in ((1024, "1 KiB"), (MI, "1 MiB"), (1 << 30, "1 GiB")))
    pathlib.Path(path).write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 330" font-family="sans-serif" font-size="12"><style>line{stroke:#999;stroke-width:.7}'
        'text{fill:#555}.fitted{fill:#7aa6c2}.others{fill:#c2410c}</style><title>Predicted over measured time by message size</title>'
        f'{lines}{ticks}{dots}<text x="60" y="20">predicted / measured time; blue: tables that constants were fitted on, red: the others</text></svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("chorale")
    parser.add_argument("file")
    parser.add_argument("--ours", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--svg")
    options = parser.parse_args()
    tables = [Table(line) for line in pathlib.Path(options.file).read_text().splitlines() if line.strip()]
    rows, kept, above = [], {}, []
    print(f"{'table':<30} {'library takes':<28} {'median':>7}  {'worst':>6}" + ("  ours, the largest size" if options.ours else ""))
    for index, table in enumerate(tables):
        answers, searched = predicted(options.chorale, table), ours(options.chorale, table, options.ours, kept)
        of_table = []
        for size, us in table.rows:
            if size not in answers:
                continue
            answer = answers[size]
            of_table.append({"bytes": size, "ratio": answer["us"] / us, "table": table, "fitted": index % 2 == 0, "taken": f"{answer['algorithm']} {answer['protocol']}"})
            if size in searched and 0 < us < 0.999 * searched[size]["bound_us"]:
                above.append((table, size, us, searched[size]["bound_us"]))
        rows += of_table
        if not of_table:
            continue
        taken = list(dict.fromkeys(row["taken"] for row in of_table))
        last = ""
        if searched:
            best, (size, us) = searched[max(searched)], table.rows[-1]
            last = f"  {best['us']:.0f} us; bound {best['bound_us']:.0f}; measured {us:.0f}"
        print(f"{table.id[:30]:<30} {(', '.join(taken) if len(taken) < 3 else taken[0] + ' ... ' + taken[-1]):<28.28} {percent([abs(r['ratio'] - 1) for r in of_table])}  "
              f"{max(map(factor, of_table)):5.2f}x{last}")
    by(rows, lambda row: row["table"].gpu, "GPU")
    by(rows, lambda row: row["table"].call, "collective")
    by(rows, lambda row: size_class(row["bytes"]), "size")
    by(rows, lambda row: "fitted (even)" if row["fitted"] else "others (odd)", "half")
    print("\nrows off by more than a factor of two, by table, with what its note says:")
    for table in tables:
        off = [row for row in rows if row["table"] is table and factor(row) > 2]
        if off:
            print(f"  {table.id}: {len(off)} of {len(table.rows)}, {max(map(factor, off)):.2f}x; {table.note[:110] or 'no note'}")
    if options.ours:
        print(f"\nmeasured rates above what is printed as the bound: {len(above)} rows")
        for table, size, us, bound in above:
            print(f"  {table.id} at {size} bytes: {us:.1f} us, bound {bound:.1f} us")
    if options.svg:
        drawn(rows, options.svg)
    healthy = [row for row in rows if not row["table"].doubtful] or rows
    worst = max(healthy, key=factor)
    large, small = ([abs(r["ratio"] - 1) for r in rows if (r["bytes"] >= MI) == is_large] or [0] for is_large in (True, False))
    print(f"from 1 MiB: median {100 * statistics.median(large):.1f} %; below: median {100 * statistics.median(small):.1f} %; "
          f"worst {factor(worst):.2f} x ({worst['table'].id})")


if __name__ == "__main__":
    sys.exit(main())
