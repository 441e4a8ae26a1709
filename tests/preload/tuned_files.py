#!/usr/bin/env python3
"""Files with which MPI libraries, UCC and NCCL choose their own algorithms by what was measured.

Times are written into a library by hand, at random, so that the right choice of each size is known; each
format is read here by a small reader of its own, as the program that obeys it reads it. Open MPI itself is
then run with the rules: its monitoring counts the messages of each pair, which have to be those of the
algorithm that was forced. NCCL is played by this test, which loads the plugin and looks at the costs that it
sets. MPICH itself: mpich.py.

Usage: tuned_files.py CHORALE MPICC SEED
"""
import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, refused, run, work  # noqa: E402

chorale, mpicc = [str(pathlib.Path(a).absolute()) if "/" in a else a for a in sys.argv[1:3]]
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
dice = random.Random(seed)
print(f"seed {seed}")

OMPI = {  # id in the classic file, name in the JSON, algorithms by their numbers from 1 on
    "allgather": (0, "allgather", "linear bruck recursive_doubling ring neighbor".split()),
    "allreduce": (2, "allreduce", "basic_linear nonoverlapping recursive_doubling ring segmented_ring rabenseifner".split()),
    "alltoall": (3, "alltoall", "linear pairwise modified_bruck linear_sync".split()),
    "broadcast": (7, "bcast", "basic_linear chain pipeline split_binary_tree binary_tree binomial knomial scatter_allgather".split()),
    "gather": (9, "gather", "basic_linear binomial linear_sync".split()),
    "reduce": (11, "reduce", "linear chain pipeline binary binomial in-order_binary rabenseifner".split()),
    "reducescatter": (13, "reducescatterblock", "basic_linear recursive_doubling recursive_halving butterfly".split()),
    "scatter": (15, "scatter", "basic_linear binomial linear_nb".split())}
MPICH = {"allgather": "brucks ring", "allreduce": "recursive_doubling reduce_scatter_allgather", "alltoall": "brucks pairwise scattered",
         "broadcast": "binomial scatter_ring_allgather", "reduce": "binomial reduce_scatter_gather",
         "reducescatter": "recursive_halving pairwise recursive_doubling"}
UCC = {"allreduce": "knomial sra_knomial dbt ring", "allgather": "knomial ring neighbor bruck linear", "alltoall": "pairwise bruck",
       "broadcast": "knomial sag_knomial dbt", "reduce": "knomial dbt srg", "reducescatter": "ring knomial"}
PARTS = {"allgather", "alltoall", "gather", "reducescatter", "scatter"}  # a message is a block of each rank

(work / "spec.json").write_text(json.dumps({"machines": ["full:3", "full:4"], "collectives": list(OMPI), "max_chunks": 1,
                                            "conflicts": 100}))
run(chorale, "library", "build", "spec.json", "-o", "mpi.db", timeout=600)


def keys(file):
    return {(machine, collective): key for machine, collective, key in
            sqlite3.connect(work / file).execute("SELECT machine, collective, key FROM places WHERE grp = 'all'")}


def invent(file, library, names, sizes):
    """Times of a library's algorithms at these block sizes. Returns the choice: [machine, collective][size]
    -> name, '' for its own."""
    rows, best = [], {}
    for (machine, collective), key in keys(file).items():
        for size in sizes if collective in names else ():
            own = dice.randrange(100, 200)
            rows.append((key, "mpi", -1, size, own, own * 0.9, own * 1.1, 10))
            times = {"": own * 0.9}  # an algorithm has to be faster than the fastest round of the own choice
            for name in names[collective]:
                times[name] = dice.randrange(800, 2500) / 10
                rows.append((key, f"mpi/{library}/{name}", -1, size, times[name], times[name] - 1, times[name] + 1, 10))
            best.setdefault((machine, collective), {})[size] = min(times, key=lambda name: (times[name], name != ""))
    with sqlite3.connect(work / file) as db:
        db.execute("DELETE FROM measured")
        db.executemany("INSERT INTO measured VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return best


def chosen(best, size):
    """Of the greatest measured size that is not above this one, or the smallest."""
    below = [each for each in best if each <= size]
    return best[max(below) if below else min(best)]


def export(file, machine, form, *collectives, more=(), **options):
    return run(chorale, "library", "export", file, machine, *collectives, "--as", form, "-o", f"{form}_{machine[-1]}", *more, **options)


def numbers(text):
    return [int(word) for line in text.splitlines() for word in line.split("#")[0].split()]


def classic(text):
    """[id] -> [(ranks, [(bytes, algorithm)])], as all versions parse it."""
    words = iter(numbers(text))
    sets = {}
    for _ in range(next(words)):
        of = sets.setdefault(next(words), [])
        for _ in range(next(words)):
            ranks, rules = next(words), []
            for _ in range(next(words)):
                rules.append((next(words), next(words)))
                assert (next(words), next(words)) == (4, 0)  # fan-out, segments: what a forced algorithm has
            assert not rules or rules[0][0] == 0 and rules == sorted(rules), rules
            of.append((ranks, rules))
    assert next(words, None) is None
    return sets


def of_version_4(sets, ranks, size):
    """Of Open MPI 4.1 and 5: the last set whose ranks are not more, or the first; 0 if none."""
    rules = ([each for each in sets if each[0] <= ranks] or sets[:1])[-1][1]
    return [alg for least, alg in rules if least <= size][-1] if rules else 0


def of_version_6(sets, ranks, size):
    """Of Open MPI 6: a set is from the end of the one before to one less than its ranks, the last without
    end."""
    least = 0
    for number, (end, rules) in enumerate(sets):
        most = end - 1 if number + 1 < len(sets) else 1 << 30
        if least <= ranks <= most:
            return [alg for start, alg in rules if start <= size][-1] if rules else 0
        least = most + 1
    return 0


def probes(best):
    """Sizes of blocks around each choice, and others."""
    return sorted({max(1, size + d) for size in best for d in (-1, 0, 1)} | {1, *(dice.randrange(1, 1 << 22) for _ in range(10))})


# Open MPI.
sizes = sorted({4 * dice.randrange(1, 300), 4 * dice.randrange(300, 5000), 4 * dice.randrange(5000, 60000)})
ompi = invent("mpi.db", "ompi", {name: row[2] for name, row in OMPI.items()}, sizes)
for machine in ("full:3", "full:4"):
    ranks = int(machine[-1])
    export("mpi.db", machine, "ompi-rules", *OMPI)
    export("mpi.db", machine, "ompi-json", *OMPI)
    folder = work / f"ompi-rules_{ranks}"
    text = (folder / "ompi_rules.conf").read_text()
    assert "times were measured with its settings" in text and "predicted" not in text
    sets = classic(text)
    rules = json.loads((work / f"ompi-json_{ranks}" / "ompi_rules.json").read_text())
    assert set(rules) == {"rule_file_version", "module", "collectives"} and rules["rule_file_version"] == 3 and rules["module"] == "tuned"
    assert len(sets) == len(OMPI) == len(rules["collectives"])
    for collective, (number, name, algorithms) in OMPI.items():
        best = ompi[machine, collective]
        for block in probes(best):
            size = block * (ranks if collective in PARTS else 1)
            want = chosen(best, block)
            want = algorithms.index(want) + 1 if want else 0
            for reader in (of_version_4, of_version_6):
                assert reader(sets[number], ranks, size) == want, (reader, machine, collective, block, want, text)
                for other in {1, ranks - 1, ranks + 1, 100}:
                    assert reader(sets[number], other, size) == 0, (reader, collective, other)
            found = [rule["alg"] for of in rules["collectives"][name] if of["comm_size_min"] <= ranks <= of["comm_size_max"]
                     for rule in of["rules"] if rule["msg_size_min"] <= size and (rule["msg_size_max"] == "inf" or size <= rule["msg_size_max"])]
            assert found == [want], (collective, block, want, found)

# Two groups in one file, each for its own ranks only; of groups with as many ranks the first counts.
(work / "spec2.json").write_text(json.dumps({"machines": ["dgx-a100:2"], "collectives": ["allreduce"], "groups": ["all", "node", "rank"],
                                             "max_chunks": 1, "conflicts": 10, "seconds": 5}))
run(chorale, "library", "build", "spec2.json", "-o", "two.db", timeout=600)
groups = dict(sqlite3.connect(work / "two.db").execute("SELECT grp, ranks FROM places"))
export("two.db", "dgx-a100:2", "ompi-rules", "allreduce", more=["--group", "all,node,rank"])
text = (work / "ompi-rules_2" / "ompi_rules.conf").read_text()
assert "nothing was measured: times are predicted" in text
by_ranks = classic(text)[2]
for reader in (of_version_4, of_version_6):
    assert {ranks for ranks in range(40) if reader(by_ranks, ranks, 1 << 20)} == set(groups.values()), by_ranks

# Of two answers to one call, one has times of Open MPI and the other of MPICH: only its own count for each.
for order in ("agreed", "fixed"):
    (work / "order.json").write_text(json.dumps({"machines": ["full:4"], "collectives": ["allreduce"], "order": order, "max_chunks": 1, "conflicts": 100}))
    run(chorale, "library", "build", "order.json", "-o", "orders.db", timeout=600)
both = [key for key, in sqlite3.connect(work / "orders.db").execute("SELECT DISTINCT key FROM places")]
assert len(both) == 2, both
for of_ompi, of_mpich in (both, both[::-1]):
    with sqlite3.connect(work / "orders.db") as db:
        db.execute("DELETE FROM measured")
        db.executemany("INSERT INTO measured VALUES (?, ?, -1, 1024, 5, 4, 6, 10)",
                       [(of_ompi, "mpi/ompi/ring"), (of_mpich, "mpi/mpich/recursive_doubling")])
    export("orders.db", "full:4", "ompi-rules", "allreduce")
    assert "predicted" not in (work / "ompi-rules_4" / "ompi_rules.conf").read_text()

# Open MPI itself, on its counts of messages.
(work / "calls.c").write_text(r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = atoi(argv[2]);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float *in = calloc((size_t)count * ranks, 4), *out = calloc((size_t)count * ranks, 4);
  const char* name = argv[1];
  const MPI_Comm all = MPI_COMM_WORLD;
  if (!strcmp(name, "allgather")) MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, all);
  if (!strcmp(name, "allreduce")) MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, all);
  if (!strcmp(name, "alltoall")) MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, all);
  if (!strcmp(name, "broadcast")) MPI_Bcast(in, count, MPI_FLOAT, 0, all);
  if (!strcmp(name, "gather")) MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, all);
  if (!strcmp(name, "reduce")) MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, all);
  if (!strcmp(name, "reducescatter")) MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, all);
  if (!strcmp(name, "scatter")) MPI_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, all);
  MPI_Finalize();
}
""")
library = run(mpicc, "--showme:version", code=None)
if "Open MPI 4" not in library.stdout + library.stderr or "monitoring" not in run("ompi_info", code=None):
    print("NOT RUN: Open MPI 4 with its component pml_monitoring is not here; its files were only read by the readers above")
else:
    run(mpicc, "-O1", "calls.c", "-o", "calls")

    def traffic(ranks, collective, block, *settings):
        for old in work.glob("traffic*"):
            old.unlink()
        mpirun(ranks, "--mca", "pml_monitoring_enable", 2, "--mca", "pml_monitoring_enable_output", 3, "--mca", "pml_monitoring_filename",
               work / "traffic", "--mca", "coll_tuned_use_dynamic_rules", 1, *settings, "./calls", collective, block // 4)
        return sorted(line.split("msgs")[0] for path in work.glob("traffic*") for line in path.read_text().splitlines() if line.startswith("I"))

    told_apart = 0
    for ranks in (3, 4):
        for collective, (_, _, algorithms) in OMPI.items():
            # By itself: some algorithms call other collectives, which would obey their rules.
            export("mpi.db", f"full:{ranks}", "ompi-rules", collective)
            rules = work / f"ompi-rules_{ranks}" / "ompi_rules.conf"
            best = ompi[f"full:{ranks}", collective]
            setting = {"broadcast": "bcast", "reducescatter": "reduce_scatter_block"}.get(collective, collective)
            block = dice.choice([each for each in sorted(best) if best[each]] or sorted(best))
            number = algorithms.index(best[block]) + 1 if best[block] else 0
            obeyed = traffic(ranks, collective, block, "--mca", "coll_tuned_dynamic_rules_filename", rules)
            forced = traffic(ranks, collective, block, "--mca", f"coll_tuned_{setting}_algorithm", number)
            assert obeyed == forced and obeyed, (ranks, collective, block, number, obeyed, forced)
            told_apart += told_apart < 3 and obeyed != traffic(ranks, collective, block)
    assert told_apart == 3, told_apart  # Open MPI by itself sends other messages
    print("Open MPI obeyed 16 rules; 3 of them and more differ from its own choice")

# MPICH: a tree of conditions, read as it reads it.
mpich = invent("mpi.db", "mpich", {name: row.split() for name, row in MPICH.items()}, sizes)


def walk(tree, call):
    """The algorithm for a call: below the first condition that holds, one has to hold again."""
    for condition, below in tree.items():
        what, relation, value = re.fullmatch(r"(\w+)(<=|<|=)(\w+)", condition).groups()
        if what == "algorithm":
            return value
        if value == "any":
            holds = True
        elif value == "pow2" and relation == "=":
            holds = call[what] & (call[what] - 1) == 0
        elif value == "pow2":
            holds = call[what] < 1 << (call["comm_size"].bit_length() - 1)
        elif relation == "=":
            holds = call[what] == value
        else:
            assert int(value) < 1 << 31
            holds = call[what] < int(value) + (relation == "<=")
        if holds:
            return walk(below, call)
    raise AssertionError(f"no branch of {list(tree)} is for {call}")


NAMES = {"broadcast": ("bcast", "Bcast"), "reducescatter": ("reduce_scatter_block", "Reduce_scatter_block")}
for machine in ("full:3", "full:4"):
    ranks = int(machine[-1])
    export("mpi.db", machine, "mpich-json", *MPICH)
    tree = json.loads((work / f"mpich-json_{ranks}" / "mpich_selection.json").read_text())
    assert "times were measured" in (work / f"mpich-json_{ranks}" / "mpich_selection.txt").read_text()
    names = {key.removeprefix("collective=") for key in tree}
    blocking = {"allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "exscan", "gather", "gatherv",
                "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv"}
    neighbours = {f"neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")}
    assert names == {prefix + name for name in blocking | neighbours for prefix in ("", "i")}, names

    def call(collective, block, comm_size, **more):
        return {"collective": collective, "comm_type": "intra", "comm_size": comm_size, "avg_msg_size": block, "total_msg_size": block * comm_size,
                "count": block // 4, "is_op_built_in": "yes", "is_commutative": "yes", "is_sendbuf_inplace": "no", **more}

    for collective in MPICH:
        name, function = NAMES.get(collective, (collective, collective.capitalize()))
        best = mpich[machine, collective]
        for block in probes(best):
            want = chosen(best, block)
            found = walk(tree, call(name, block, ranks))
            if block // 4 < 2 and want in ("reduce_scatter_allgather", "reduce_scatter_gather"):
                continue  # has to have an element for each of two ranks
            assert not want or found == f"MPIR_{function}_intra_{want}", (collective, block, want, found)
            # Calls that the algorithm is not for.
            if want in ("reduce_scatter_allgather", "reduce_scatter_gather"):
                assert want not in walk(tree, call(name, block, ranks, is_op_built_in="no"))
            if name == "alltoall":
                assert walk(tree, call(name, block, ranks, is_sendbuf_inplace="yes")).endswith("pairwise_sendrecv_replace")
            if name == "reduce_scatter_block":
                assert walk(tree, call(name, block, ranks, is_commutative="no")).endswith("recursive_doubling")
    for name in names:  # nothing is without an algorithm
        for _ in range(20):
            some = call(name, dice.choice([0, 4, 1 << dice.randrange(30)]), dice.randrange(1, 40), is_op_built_in=dice.choice(["yes", "no"]),
                        is_commutative=dice.choice(["yes", "no"]), is_sendbuf_inplace=dice.choice(["yes", "no"]))
            found = walk(tree, some)
            assert found.lower().startswith(f"mpir_{name}_"), (name, found)
            assert not found.endswith("recursive_doubling") or name not in ("allgather", "allgatherv") or some["comm_size"] & (some["comm_size"] - 1) == 0
            if "scan" not in name and "neighbor" not in name:
                walk(tree, {**some, "comm_type": "inter"})
# UCC: nothing is measured of it. The fastest baseline of a shape, as 'classic' and 'show' have it on this
# machine.
done = export("mpi.db", "full:4", "ucc-tune", "allreduce", "allgather", "alltoall", more=["--bytes", "256,16K,4M"])
assert "alltoall: no rules; nothing was measured of ucc, and fewer than two" in done.stderr, done.stderr
text = (work / "ucc-tune_4" / "ucc.conf").read_text()
assert "nothing was measured: times are predicted" in text
settings = dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#"))
assert settings["UCC_TL_UCP_KN_RADIX"] == "2"
covered = {}
for token in settings["UCC_TL_UCP_TUNE"].split("#"):
    collective, least, most, least_ranks, most_ranks, algorithm = re.fullmatch(r"(\w+):(\d+)-(\d+|inf):\[(\d+)-(\d+)\]:@(\w+)", token).groups()
    assert least_ranks == most_ranks == "4" and algorithm in UCC[collective].split()
    assert int(least) == covered.get(collective, 0), token
    covered[collective] = int(most) + 1 if most != "inf" else -1
assert covered == {"allreduce": -1, "allgather": -1}, covered
for line in text.splitlines():
    if found := re.match(r"#\s+([\d.]+ \w+)\s+(\w+)\s+([\d.]+ \w+)\s+predicted", line):
        assert found[2] in (UCC["allreduce"] + " " + UCC["allgather"]).split(), line

# NCCL's plugin, and the same choice for its example of one and for NCCLX's tuner.
forms = {}
for form, file in (("nccl-tuner", "nccl_tuner.csv"), ("nccl-tuner-plugin", "nccl_tuner_plugin.c"), ("ncclx-csv", "ncclx_tuner.csv")):
    export("two.db", "dgx-a100:2", form, "allreduce", more=["--group", "all,rank"])
    forms[form] = work / f"{form}_2" / file
    assert "predicts of NCCL's own algorithms; nothing was measured" in forms[form].read_text()
rows = [line.split(",") for line in forms["nccl-tuner"].read_text().splitlines() if not line.startswith("#")]
rows = [(int(row[7]), int(row[1]), int(row[2]), row[3]) for row in rows]
assert rows and {row[0] for row in rows} <= {groups["all"], groups["rank"]}
run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC", forms["nccl-tuner-plugin"], "-o", "tuner.so")
plugin = ctypes.CDLL(str(work / "tuner.so"))
get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
                       ctypes.c_int, ctypes.POINTER(ctypes.c_int))
end = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
init4 = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
init5 = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p,
                         ctypes.c_void_p, ctypes.c_void_p)


class V4(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("init", init4), ("get", get), ("end", end)]


class V6(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("init", init5), ("get", get), ("end", end), ("chunk", ctypes.c_void_p)]


ALGORITHMS, PROTOCOLS, NONE = 7, 3, -1.0  # tree, ring, ...; LL, LL128, Simple
for version in (4, 5, 6):
    tuner = (V4 if version == 4 else V6).in_dll(plugin, f"ncclTunerPlugin_v{version}")
    assert tuner.name == b"chorale" and (version != 6 or not tuner.chunk)
    for ranks in sorted({*groups.values(), 1, 5}):
        context = ctypes.c_void_p()
        if version == 4:
            assert tuner.init(ranks, 1, None, ctypes.byref(context)) == 0
        else:
            assert tuner.init(ctypes.byref(context), 77, ranks, 1, None, None, None) == 0
        edges = {edge for row in rows for edge in (row[1] - 1, row[1], row[1] + 1, row[2] - 1, row[2]) if 0 < edge < 1 << 62}
        for size in sorted(edges | {0, 1, 1 << 20, 1 << 40}):
            for collective in range(5):
                costs = [[dice.choice([NONE, 3.0 + a + p]) for p in range(PROTOCOLS)] for a in range(ALGORITHMS)]
                table = (ctypes.c_float * (ALGORITHMS * PROTOCOLS))(*[each for row in costs for each in row])
                channels = ctypes.c_int(-5)
                assert tuner.get(context, collective, size, 1, ctypes.addressof(table), ALGORITHMS, PROTOCOLS, 0, ctypes.byref(channels)) == 0
                want = {row[3] for row in rows if collective == 4 and row[0] == ranks and row[1] <= size <= row[2]}
                for a in range(ALGORITHMS):
                    for p in range(PROTOCOLS):
                        is_taken = p == 2 and want == {{0: "tree", 1: "ring"}.get(a)} and costs[a][p] != NONE
                        assert table[a * PROTOCOLS + p] == (0 if is_taken else costs[a][p]), (version, ranks, size, collective, a, p)
                assert channels.value == -5
                small = (ctypes.c_float * 1)(4.0)  # of an NCCL that knows one algorithm and protocol
                assert tuner.get(context, collective, size, 1, ctypes.addressof(small), 1, 1, 0, ctypes.byref(channels)) == 0 and small[0] == 4
        assert tuner.end(context) == 0


def within(interval, number):
    least, most = re.fullmatch(r"\[(\d+),(\d*)\)", interval).groups()
    return int(least) <= number and (not most or number < int(most))


nccl_x = [re.fullmatch(r"(\w+),(\[\d+,\d*\)),(\w+),(\w+),(-?\d+),(\d+),(\d+)", line).groups()
          for line in forms["ncclx-csv"].read_text().splitlines() if not line.startswith("#")]
for ranks in groups.values():
    for size in sorted({max(1, row[1] + d) for row in rows for d in (-ranks, 0, ranks)} | {1, 1 << 35}):
        want = [row[3] for row in rows if row[0] == ranks and row[1] <= size <= row[2]]
        found = [row[2] for row in nccl_x if int(row[5]) * int(row[6]) == ranks and within(row[1], size // ranks)]
        assert found == want, (ranks, size, want, found)
assert all(row[0] == "allreduce" and row[3] == "simple" and row[4] == "-1" for row in nccl_x)
assert {(int(row[5]), int(row[6])) for row in nccl_x if int(row[5]) * int(row[6]) == groups["all"]} <= {(2, groups["all"] // 2)}

# Measured here, of each algorithm that can be forced; those that MPI refuses on so many ranks are named.
measured = mpirun(3, chorale, "library", "measure", "mpi.db", "full:3", "--own", "all", "--bytes", "4,4K", "--rounds", 1, "--times", 1)
if "none of MPI's own algorithms" in measured:
    print("NOT RUN: this MPI has no algorithms that can be forced")
else:
    with sqlite3.connect(work / "mpi.db") as db:
        found = {(over, size) for over, size in db.execute("SELECT over, bytes FROM measured WHERE key = ?", (keys("mpi.db")["full:3", "allreduce"],))
                 if over.startswith("mpi/ompi/")}
        assert {("mpi/ompi/" + name, size) for name in OMPI["allreduce"][2] for size in (4, 4096)} <= found, found
    assert "allgather of all, 12 B: MPI refuses two_proc, or its data is wrong" in measured, measured
    assert re.search(r"allreduce\s+4 KiB\s+rabenseifner\s", measured), measured
    assert "verified" in run(chorale, "library", "verify", "mpi.db")
    run(chorale, "library", "merge", "mpi.db", "-o", "merged.db")
    with sqlite3.connect(work / "mpi.db") as db, sqlite3.connect(work / "merged.db") as other:
        query = "SELECT * FROM measured ORDER BY 1, 2, 3, 4"
        assert db.execute(query).fetchall() == other.execute(query).fetchall()
# They decide nothing else: what was measured of points does.
assert "measured" in run(chorale, "library", "select", "mpi.db", "full:3", "allreduce", "--bytes", "4K")
assert "predicted" in run(chorale, "library", "select", "two.db", "dgx-a100:2", "allreduce", "--bytes", "4K")

# Wrong input.
refused("library", "measure", "mpi.db", "full:3", "--own", "all", "--over", "nccl", says="--own: NCCL's algorithms cannot be forced one by one")
refused("library", "measure", "mpi.db", "full:3", "--own", "none", says="--own")
refused("library", "export", "mpi.db", "full:4", "alltoall", "--as", "ucc-tune", "-o", "none", says="nothing of that can be written; alltoall: no rules")
refused("library", "export", "two.db", "dgx-a100:2", "allreduce", "--as", "ompi-rules", "--group", "all,", "-o", "none", says="two.db")
assert not (work / "none").exists()
for over, says in (("mpi/ompi/nonsense", "of an algorithm that is not known"), ("mpi/lam/ring", "of an algorithm that is not known"),
                   ("nccl/ompi/ring", "over something that is not known"), ("mpi/ompi", "over something that is not known")):
    shutil.copy(work / "mpi.db", work / "wrong.db")
    with sqlite3.connect(work / "wrong.db") as db:
        db.execute("UPDATE measured SET over = ? WHERE over = (SELECT max(over) FROM measured)", (over,))
    refused("library", "show", "wrong.db", says=says)
os.remove(work / "wrong.db")
