#!/usr/bin/env python3
"""How right the model of what NCCL and RCCL take is (chorale baseline), against measured tables.

Usage: believable.py CHORALE FILE [--ours SECONDS] [--svg FILE]

FILE has a table a line (tests/data/measured/curves.jsonl): id, machine, gpus_per_node, nodes, gpu, intra,
nics_per_node, nic_gbits, collective, library, note, rows of bytes with time_us or busbw. Each machine becomes facts
for the program (Table.options), which predicts; nothing is predicted here. Bounds of the machine, as described by
these facts and by its name where the catalogue has it, are compared with what was measured. --ours: also searches
for so many seconds where the catalogue has the machine.

Prints median and worst error by table, collective and size, rows off by more than a factor of two, how many were
measured above the bound, and as its last line: from 1 MiB: median X %; below: median Y %; worst Z x (ID)
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

# Letters of a collective's name, the first that fits: "all_reduce_perf", "Send/Recv", "AlltoAll".
CALLS = [("allreduce", "allreduce"), ("reducescatter", "reducescatter"), ("allgather", "allgather"), ("alltoall", "alltoall"), ("a2a", "alltoall"),
         ("broadcast", "broadcast"), ("bcast", "broadcast"), ("sendrecv", "sendrecv"), ("reduce", "reduce")]
# A GPU of the table of facts for each word of a table, the first that fits.
GPUS = [("MI35", "MI355X"), ("MI325", "MI325X"), ("MI3", "MI300X"), ("MI2", "MI250X"), ("MI1", "MI100"), ("GB10", "GB10"), ("SPARK", "GB10"), ("GB300", "GB300"),
        ("B300", "B300"), ("GB200", "GB200"), ("B200", "B200"), ("B100", "B200"), ("GH200", "GH200"), ("H200", "H200"), ("H20", "H20"), ("H100", "H100"), ("H800", "H100"),
        ("A100", "A100"), ("A800", "A100"), ("V100", "V100"), ("P100", "P100"), ("T4", "T4"), ("L4", "L40S"), ("L20", "L40S"), ("A6000", "RTX A6000"), ("3090", "RTX A6000"),
        ("A10", "A10G"), ("A30", "A10G"), ("A40", "RTX A6000"), ("5090", "RTX PRO 6000"), ("6000D", "RTX PRO 6000"), ("PRO", "RTX PRO 6000"), ("RTX", "L40S"),
        ("INSTINCT", "MI300X"), ("RADEON", "MI300X")]
NETWORKS = [("slingshot", "Slingshot"), ("p3dn", "EFA"), ("p4d", "EFA"), ("g4dn", "EFA"), ("efa v1", "EFA"), ("efa", "EFA 2"), ("p5", "EFA 2"), ("p6-", "EFA 2"),
            ("tcpx", "TCPX"), ("roce", "RoCE"), ("ethernet", "RoCE"), ("infiniband", "InfiniBand"), ("ndr", "InfiniBand"), ("hdr", "InfiniBand")]
# Catalogue: GPU, GPUs of a node; and Gb/s of the NICs of a node.
NAMES = {("A100", 8): ("dgx-a100", 1600), ("H100", 8): ("dgx-h100", 3200), ("H200", 8): ("dgx-h100", 3200), ("H20", 8): ("dgx-h100", 3200), ("B200", 8): ("b200", 3200),
         ("B300", 8): ("b200", 3200), ("GB200", 72): ("gb200-nvl72", 28800), ("MI300X", 8): ("mi300x", 3200), ("MI325X", 8): ("mi300x", 3200), ("MI355X", 8): ("mi355x", 3200)}
MOST_RANKS_SEARCHED, MOST_RANKS_BOUNDED = 32, 72
# The newest version of NCCL when a year began, for tables that name a year alone ("NCCL 2.2x").
VERSIONS = {2018: 4, 2019: 4, 2020: 5, 2021: 8, 2022: 11, 2023: 16, 2024: 19, 2025: 24, 2026: 29}
SUFFIXES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
MI = 1 << 20


def bus_factor(call, ranks):
    return {"allreduce": 2 * (ranks - 1) / ranks, "broadcast": 1, "reduce": 1, "sendrecv": 1}.get(call, (ranks - 1) / ranks)


def first(pairs, words, default=""):
    return next((value for word, value in pairs if word in words), default)


def number(value):
    """Of a number, or of a text that begins with one ("64K", "2x200"); 0 for all else."""
    text = re.match(r"\s*(?:(\d+)\s*x\s*)?([0-9.]+(?:e[+-]?\d+)?)\s*([kmgt]?)", str(value).lower())
    try:
        parsed = float(text[2]) * int(text[1] or 1) * SUFFIXES[text[3]] if text else 0
    except (ValueError, OverflowError):
        return 0
    return parsed if math.isfinite(parsed) else 0


class Table:
    """A table of measurements: what was asked, and [(bytes, microseconds)], the mean of in and out of place."""

    def __init__(self, text):
        self.facts = json.loads(text)
        if not isinstance(self.facts, dict):
            raise TypeError("no object")
        get = self.facts.get
        self.id, self.gpus, self.nodes = str(get("id") or "?"), int(number(get("gpus_per_node"))) or 1, int(number(get("nodes"))) or 1
        self.call = first(CALLS, re.sub("[^a-z0-9]", "", str(get("collective") or "").lower()))
        self.note = str(get("note") or "")
        word = str(get("gpu") or "").upper()
        self.gpu = first(GPUS, word, "A100" if "nvlink" in self.words("intra") else "L40S")
        self.is_known = bool(first(GPUS, word))
        times = collections.defaultdict(list)
        for row in get("rows") if isinstance(get("rows"), list) else []:
            us, bus, size = (number(row.get(name)) if isinstance(row, dict) else 0 for name in ("time_us", "busbw", "bytes"))
            if not us and bus and size:
                us = size * bus_factor(self.call, self.gpus * self.nodes) / bus / 1e3
            if us > 0 and size >= 1:
                times[int(size)].append(us)
        self.rows = [(size, statistics.mean(each)) for size, each in sorted(times.items())]
        self.doubtful = "DOUBTFUL" in self.note

    def version(self):
        """Of the library: as named, or by the year."""
        words, year = self.words("library"), int(number(self.facts.get("year"))) or 2026
        by_year = VERSIONS.get(min(max(year, 2018), 2026))
        named = re.search(r"\b2\.(\d+)(x?)", words)
        if not named:
            return f"2.{by_year}"
        decade = int(named[1]) * 10
        return f"2.{min(max(by_year, decade), decade + 9)}" if named[2] else f"2.{int(named[1]) % 100}"

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
            if number(self.facts.get("nics_per_node")):
                options += ["--nics", max(1, int(number(self.facts["nics_per_node"])))]
            if number(self.facts.get("nic_gbits")):
                options += ["--nic-gbits", f"{number(self.facts['nic_gbits']):g}"]
            if "no gpudirect" in all_words:
                options.append("--host-copies")
            if "not share a pcie switch" in all_words:
                options.append("--far-nics")
        started = "one process" in words and "process per" not in words or re.search(r"\(-g \d|-g \d", words) or re.search("(in|from) one process|single-process", self.words("note"))
        if started and "process per" not in words:
            options.append("--one-process")
        if re.search("nvls(?:_enable=0| off| disabled)", all_words):
            options.append("--no-nvls")
        forced = re.search(r"nccl_algo=(ring|tree|nvlstree|nvls)\b", words)
        protocol = re.search(r"nccl_proto=(simple|ll128|ll)\b|\b(simple)[- ]protocol", all_words)
        if protocol:
            options += ["--protocol", {"simple": "Simple", "ll128": "LL128", "ll": "LL"}[protocol[1] or protocol[2]]]
        options += ["--library-version", self.version()]
        if forced or "tree_threshold=0" in words:
            options += ["--algorithm", {"ring": "Ring", "tree": "Tree", "nvls": "NVLS", "nvlstree": "NVLSTree"}[forced[1] if forced else "ring"]]
        return [str(option) for option in options]

    def name(self):
        """Of the catalogue; "" where it has none with such NICs, or the machine is large."""
        if "cube" in self.words("intra") and self.gpus == 8:
            return "dgx1" if self.nodes == 1 else f"dgx1:{self.nodes}"
        name, gbits = NAMES.get((self.gpu, self.gpus), ("", 0))
        asked = number(self.facts.get("nics_per_node")) * number(self.facts.get("nic_gbits"))
        fits = name and self.gpus * self.nodes <= MOST_RANKS_SEARCHED and (self.nodes == 1 or asked <= gbits)
        return f"{name}:{self.nodes}" if fits else ""

    def description(self, rates):
        """As a machine (docs/formats.md), by the rates of 'chorale baseline'."""
        ranks, links, limits, switches, able = self.gpus * self.nodes, [], [], 0, []
        unit = min(rate for rate in (rates["pair_gbs"], rates["nics_gbs"]) if rate) / 50

        def join(a, b, gbs, us):
            links.append({"src": a, "dst": b, "bandwidth": math.ceil(gbs / unit), "alpha_us": us, "both_ways": True})
        is_mesh = rates["pair_gbs"] < rates["gpu_gbs"]
        for node in range(self.nodes if self.gpus > 1 else 0):
            mine = range(node * self.gpus, (node + 1) * self.gpus)
            if is_mesh:
                for a in mine:
                    for b in range(a + 1, mine[-1] + 1):
                        join(a, b, rates["pair_gbs"], rates["step_us"])
                continue
            if rates["switch_gain"]:
                able.append(switches)
            for a in mine:
                join(a, ranks + switches, rates["gpu_gbs"], rates["step_us"] / 2)
            switches += 1
        if self.nodes > 1:
            hub, most = ranks + switches, math.ceil(rates["nics_gbs"] / unit)
            switches += 1
            for node in range(self.nodes):
                mine = range(node * self.gpus, (node + 1) * self.gpus)
                for a in mine:
                    join(a, hub, rates["nics_gbs"], rates["network_us"] / 2)
                if self.gpus > 1:
                    limits += [{"name": f"NIC out {node}", "links": [[a, hub] for a in mine], "bandwidth": most},
                               {"name": f"NIC in {node}", "links": [[hub, a] for a in mine], "bandwidth": most}]
        machine = {"topology": re.sub("[^A-Za-z0-9.-]", "-", self.id), "ranks": ranks, "switches": switches, "beta_us_per_byte": 1e-3 / unit,
                   "call_us": rates["call_us"], "links": links, "limits": limits}
        return machine | ({"multicast": able, "reduce": able, "switch_gain": rates["switch_gain"]} if able else {})


def read(file):
    """[(position in the file, table)]; lines that are no table are named and left out."""
    tables = []
    for index, line in enumerate(each for each in pathlib.Path(file).read_text().splitlines() if each.strip()):
        try:
            tables.append((index, Table(line)))
        except (ValueError, AttributeError, TypeError) as error:
            print(f"line {index + 1}: not a table: {error}")
    return tables


def asked(chorale, arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([chorale, *arguments, "--json", file.name], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            return None, done.stderr.strip()
        return json.loads(pathlib.Path(file.name).read_text()), ""


def predicted(chorale, table):
    """By size a row of 'chorale baseline', and its rates; nothing where it refuses the facts."""
    answer, why = None, "no collective of nccl-tests that has a model" if table.rows else "no rows"
    if table.rows and table.call:
        sizes = ",".join(str(size) for size, _ in table.rows)
        answer, why = asked(chorale, ["baseline", table.gpu, table.call, *table.options(), "--sizes", sizes])
    if answer is None:
        print(f"{table.id}: not predicted: {why}")
        return {}, {}
    return {row["message_bytes"]: row for row in answer["rows"]}, answer["rates"]


def bounds(chorale, table, rates, kept):
    """Of the machine by name and as described: [(name, call, latency in us, bus bandwidth)], by 'chorale compare'."""
    if not rates or table.call == "sendrecv" or table.gpus * table.nodes > MOST_RANKS_BOUNDED:
        return []
    by_name, described = table.name(), table.description(rates)
    key = json.dumps([by_name, described | {"topology": ""}, table.call])
    if key not in kept:
        kept[key] = []
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(described))
            file.flush()
            answer, why = asked(chorale, ["compare", by_name or file.name, file.name, table.call])
        if why:
            print(f"{table.id}: not bounded: {why}")
        for name, limits in zip((by_name or "as described", "as described"), answer["limits"] if answer else ()):
            kept[key] += [(name, rates["call_us"], limit["latency_us"], limit["busbw_gbs"]) for limit in limits]
    return kept[key]


def bound_us(bound, table, size):
    _, call_us, latency_us, busbw = bound
    return call_us + max(latency_us - call_us, size * bus_factor(table.call, table.gpus * table.nodes) / busbw / 1e3 if busbw else 0)


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
    tables = read(options.file)
    rows, kept, above, bounded = [], {}, [], 0
    print(f"{'table':<30} {'library takes':<28} {'median':>7}  {'worst':>6}" + ("  ours, the largest size" if options.ours else ""))
    for index, table in tables:
        answers, rates = predicted(options.chorale, table)
        searched, of_table = ours(options.chorale, table, options.ours, kept), []
        limits = bounds(options.chorale, table, rates, kept)
        for size, us in table.rows:
            if size not in answers:
                continue
            answer = answers[size]
            of_table.append({"bytes": size, "ratio": answer["us"] / us, "table": table, "fitted": index % 2 == 0, "taken": f"{answer['algorithm']} {answer['protocol']}"})
            at_least = [(bound_us(bound, table, size), bound[0]) for bound in limits] + [(searched[size]["bound_us"], "searched") for _ in range(size in searched)]
            bounded += bool(at_least)
            if at_least and us < 0.999 * max(at_least)[0]:
                above.append((table, size, us, *max(at_least)))
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
    for _, table in tables:
        off = [row for row in rows if row["table"] is table and factor(row) > 2]
        if off:
            print(f"  {table.id}: {len(off)} of {len(table.rows)}, {max(map(factor, off)):.2f}x; {table.note[:110] or 'no note'}")
    print(f"\nmeasured above the bound: {len(above)} rows of {bounded}")
    for table, size, us, bound, machine in above:
        print(f"  {table.id} at {size} bytes: {us:.1f} us, bound {bound:.1f} us ({machine})")
    if options.svg:
        drawn(rows, options.svg)
    if not rows:
        print("from 1 MiB: median 0.0 %; below: median 0.0 %; worst 1.00 x (none)")
        return
    healthy = [row for row in rows if not row["table"].doubtful] or rows
    worst = max(healthy, key=factor)
    large, small = ([abs(r["ratio"] - 1) for r in rows if (r["bytes"] >= MI) == is_large] or [0] for is_large in (True, False))
    print(f"from 1 MiB: median {100 * statistics.median(large):.1f} %; below: median {100 * statistics.median(small):.1f} %; "
          f"worst {factor(worst):.2f} x ({worst['table'].id})")


if __name__ == "__main__":
    sys.exit(main())
