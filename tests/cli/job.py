#!/usr/bin/env python3
"""What a job calls, read from traces of random jobs in each format: written here, so that the list is known.

Usage: job.py CHORALE SEED
"""
import itertools
import json
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402

seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
dice = random.Random(seed)
print(f"seed {seed}")

KINDS = ["allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce"]
HAS_BLOCKS = {"allgather", "reducescatter", "alltoall"}
PYTORCH = {"allreduce": ["allreduce", "all_reduce"], "allgather": ["_allgather_base", "all_gather_into_tensor_coalesced", "all_gather"],
           "reducescatter": ["_reduce_scatter_base", "reduce_scatter_tensor_coalesced"], "alltoall": ["all_to_all", "all_to_allv", "alltoall_base"],
           "broadcast": ["broadcast"], "reduce": ["reduce"]}
NCCL = {"allreduce": "AllReduce", "allgather": "AllGather", "reducescatter": "ReduceScatter", "alltoall": "AlltoAll", "broadcast": "Broadcast", "reduce": "Reduce"}
TYPES = [("Float", 4, 7), ("BFloat16", 2, 9), ("Half", 2, 6), ("Double", 8, 8), ("Long", 8, 4), ("Byte", 1, 1)]


def job():
    """[(collective, members, type, elements of a block, [us of each call])], each once."""
    groups = [list(range(8)), [0, 1, 2, 3], [0, 4]]
    chosen = dice.sample(list(itertools.product(KINDS, groups, [1, dice.randrange(2, 5000)])), dice.randrange(1, 9))
    return [(kind, members, dice.choice(TYPES), elements, [dice.randrange(1, 10000) / 4 for _ in range(dice.randrange(1, 5))])
            for kind, members, elements in chosen]


def message(kind, ranks, size, elements):
    return elements * size * (ranks if kind in HAS_BLOCKS else 1)


def sizes_of(kind, ranks, elements):
    """Elements of a rank's input and output."""
    return (elements * (ranks if kind in ("reducescatter", "alltoall") else 1), elements * (ranks if kind in ("allgather", "alltoall") else 1))


def expected(calls, times=True):
    rows = {}
    for kind, members, (_, size, _), elements, us in calls:
        row = rows.setdefault((kind, len(members), message(kind, len(members), size, elements)), [0, 0])
        row[0] += len(us)
        row[1] += sum(us) if times else 0
    return rows


def listed(*files, more=()):
    found = json.loads(run("job", *files, "--json", "-", *more))
    assert found["chorale_job"] == 1
    rows = {(row["collective"], row["ranks"], row["message_bytes"]): [row["calls"], row["us"]] for row in found["calls"]}
    assert len(rows) == len(found["calls"])
    order = [(row["us"], row["message_bytes"] * row["calls"]) for row in found["calls"]]
    assert order == sorted(order, reverse=True), order
    return found, rows


def kineto(calls, rank, slower=0.0, kernels=True):
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 1000, "dur": 5, "args": {"Input Dims": [[3]]}},
              {"ph": "i", "name": "mark", "ts": 0}, {"ph": "X", "cat": "cpu_op", "name": "last", "ts": 900_000, "dur": 100_000}]
    for kind, members, (name, size, _), elements, us in calls:
        if rank not in members:
            continue
        into, out = sizes_of(kind, len(members), elements)
        for each in us:
            args = {"Collective name": dice.choice(PYTORCH[kind]), "In msg nelems": into, "Out msg nelems": out, "dtype": name,
                    "Group size": len(members), "Process Group Name": "7", "Process Group Ranks": str(members)}
            events.append({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 2000, "dur": 3, "args": args})
            if kernels:
                events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_" + kind, "ts": 2000, "dur": each + slower, "args": args})
    events.append({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 1, "dur": 1,
                   "args": {"Collective name": "send", "In msg nelems": 5, "Out msg nelems": 5, "dtype": "Float", "Group size": 2}})
    return {"traceEvents": events, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8}}


for _ in range(12):
    calls = job()
    ranks = sorted({rank for call in calls for rank in call[1]})
    # PyTorch's profiler: of several ranks a call counts once, by the rank that waited least.
    for rank in ranks:
        (work / f"trace_{rank}.json").write_text(json.dumps(kineto(calls, rank, slower=rank * 0.5)))
    found, rows = listed(*[f"trace_{rank}.json" for rank in ranks])
    want = expected(calls)
    assert set(rows) == set(want), (rows, want)
    for key, (number, us) in want.items():
        least = {kind: min(members) for kind, members, *_ in calls}
        assert rows[key][0] == number and us <= rows[key][1] <= us + 4 * 0.5 * number * len(ranks), (key, rows[key], us)
    assert found["duration_us"] == 999_999, found["duration_us"]
    rank0 = [call for call in calls if 0 in call[1]]
    if rank0:
        found, rows = listed("trace_0.json")
        assert rows == expected(rank0), (rows, expected(rank0))
        (work / "launches.json").write_text(json.dumps(kineto(calls, 0, kernels=False)))
        found, rows = listed("launches.json")
        assert rows == expected(rank0, times=False), rows
        assert found["skipped"] == [{"operation": "send", "calls": 1}], found["skipped"]

    # PyTorch's flight recorder, NCCL's inspector, NCCL's log, a table.
    entries, pgs, inspector, log, table = [], {}, [], [], ["collective,ranks,bytes,group,calls,us"]
    for number, (kind, members, (name, size, code), elements, us) in enumerate(calls):
        into, out = sizes_of(kind, len(members), elements)
        group = str(len(members))
        pgs[group] = {"name": group, "desc": "some", "ranks": str(members)}
        for each in us:
            entries.append({"record_id": len(entries), "process_group": [group, "some"], "profiling_name": "nccl:" + dice.choice(PYTORCH[kind]),
                            # As PyTorch 2.15 has it.
                            "time_created_ns": 1795652033886795040 + number, "input_sizes": [[into]], "input_dtypes": [name], "output_sizes": [[out]],
                            "output_dtypes": [name], "state": "completed", "duration_ms": each / 1000})
            inspector.append({"header": {"id": "0x" + group, "rank": members[0], "n_ranks": len(members), "nnodes": 1}, "metadata": {"pid": 1},
                              "coll_perf": {"coll": NCCL[kind], "coll_sn": len(entries), "coll_msg_size_bytes": message(kind, len(members), size, elements),
                                            "coll_exec_time_us": each}})
            for rank in members:
                log.append(f"node:{100 + rank}:7 [{rank}] NCCL INFO {NCCL[kind]}: opCount {len(entries):x} sendbuff 0x7f recvbuff 0x7e count {elements} "
                           f"datatype {code} op 0 root 0 comm 0x55{rank} [nranks={len(members)}] stream 0x5")
        table.append(f"{kind},{len(members)},{message(kind, len(members), size, elements)},{'' if dice.random() < 0.5 else 'g' + group},{len(us)},{sum(us)}")
    (work / "recorder.json").write_text(json.dumps({"version": "2.9", "pg_config": pgs, "entries": entries}))
    found, rows = listed("recorder.json")
    assert {key: row[0] for key, row in rows.items()} == {key: row[0] for key, row in want.items()}, (rows, want)
    assert all(abs(rows[key][1] - want[key][1]) < 1e-6 * want[key][1] for key in want)
    (work / "inspector.log").write_text("\n".join(json.dumps(each) for each in inspector) + '\n{"header": {"id": "cut')
    found, rows = listed("inspector.log")
    assert rows == want, (rows, want)
    (work / "nccl.log").write_text("node:100:7 [0] NCCL INFO NET/Socket : Using [0]eth0\n" + "\n".join(log) + "\n")
    found, rows = listed("nccl.log")
    assert rows == expected(calls, times=False), (rows, want)
    (work / "calls.csv").write_text("# of a wrapper\n" + "\n".join(table) + "\n")
    found, rows = listed("calls.csv")
    assert {key[0] for key in rows} == {key[0] for key in want} and sum(row[0] for row in rows.values()) == sum(row[0] for row in want.values())

# The least: one call, one byte, no times. A table without groups.
(work / "least.csv").write_text("bytes,collective,ranks\n1,MPI_Bcast,2\n")
text = run("job", "least.csv")
assert text.splitlines()[1].split() == ["broadcast", "2", "ranks", "2", "1", "B", "1", "-", "-"], text

# Gloo, by the sizes of its tensors.
shapes = [{"ph": "X", "name": f"gloo:{name}", "ts": 10, "dur": 20, "args": {"Input Dims": dims, "Input type": [kind]}}
          for name, dims, kind in (("all_reduce", [[3, 5]], "float"), ("all_gather", [[7]], "double"), ("broadcast", [[[2, 2], [3]]], "long int"))]
(work / "gloo.json").write_text(json.dumps({"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 3}, "traceEvents": shapes}))
assert listed("gloo.json")[1] == {("allreduce", 3, 60): [1, 20], ("allgather", 3, 168): [1, 20], ("broadcast", 3, 56): [1, 20]}

# What it would gain: times of 'optimize' for the same sizes, weighted by calls.
(work / "gain.csv").write_text("collective,ranks,bytes,calls,us\nallreduce,16,65536,10,900\nallgather,16,1048576,3,600\nallreduce,5,4096,7,70\n")
found = json.loads(run("job", "gain.csv", "--machine", "dgx-a100:2", "--search-time", "1", "--json", "-", "--spec", "spec.json"))
assert [row["level"] for row in found["rows"]] == ["all", "all", ""], found["rows"]
total, base = 0, 0
for row, calls in zip(found["rows"], found["calls"]):
    if not row["level"]:
        assert row["us"] == row["baseline_us"] == 0 and calls["ranks"] == 5
        continue
    answer = json.loads(run("optimize", "dgx-a100:2", row["collective"], "--sizes", row["message_bytes"], "--search-time", "1", "--json", "-"))["rows"][0]
    assert answer["baseline_us"] == row["baseline_us"] and answer["baseline"] == row["baseline"], (answer, row)
    assert 0 < row["us"] <= row["baseline_us"]
    total, base = total + calls["calls"] * row["us"], base + calls["calls"] * row["baseline_us"]
assert abs(found["us"] - total) < 1e-6 * total and abs(found["baseline_us"] - base) < 1e-6 * base
assert f"{100 * (1 - total / base):.1f} %" in found["gain"] and "predicted for 2 of 3 rows" in found["gain"], found["gain"]

# Its specification builds a library, and that has the times.
spec = json.loads((work / "spec.json").read_text())
assert spec["machines"] == ["dgx-a100:2"] and spec["collectives"] == ["allgather", "allreduce"] and spec["groups"] == ["all"]
assert spec["bytes"] == [65536, 1 << 20], spec  # of messages
spec.update(max_chunks=1, conflicts=10, seconds=5)
(work / "spec.json").write_text(json.dumps(spec))
run("library", "build", "spec.json", "-o", "job.db")
by_library = json.loads(run("job", "gain.csv", "--machine", "dgx-a100:2", "--library", "job.db", "--json", "-"))
for row in by_library["rows"][:2]:
    chosen = run("library", "select", "job.db", "dgx-a100:2", row["collective"], "--bytes", row["message_bytes"])
    time = {"us": 1, "ms": 1000}
    number, unit = chosen.splitlines()[1].split()[2:4]
    assert abs(float(number) * time[unit] - row["us"]) <= 0.006 * row["us"], (chosen, row)

# A trace with times and a duration: of the whole job.
(work / "timed.json").write_text(json.dumps(kineto([("allreduce", list(range(8)), ("Float", 4, 7), 1 << 20, [1000.0] * 100)], 0)))
text = run("job", "timed.json", "--machine", "dgx-a100:1", "--search-time", "1")
assert "your job would gain at most " in text and "its collectives took 100 ms of 1 s" in text, text

# Wrong input.
wrong = {"text.txt": ("hello\n", "text.txt: line 1: is not a known trace"), "empty.json": ("{}", "empty.json: is not a known trace"),
         "half.json": ('{"traceEvents": [', "half.json"), "none.json": ('{"traceEvents": []}', "none.json: has no collective with a size"),
         "pickle": ("\x80\x04", "is a pickle of Python"), "list.json": ('[1, "a", {"ph": 3}]', "has no collective with a size"),
         "cells.csv": ("collective,ranks,bytes\nallreduce,4\n", "cells.csv: line 2: has other columns than the header"),
         "number.csv": ("collective,ranks,bytes\nallreduce,-4,5\n", "number.csv: line 2: '-4' is not a number of ranks"),
         "time.csv": ("collective,ranks,bytes,us\nallreduce,4,5,soon\n", "'soon' is not a time"),
         "empty.csv": ("", "empty.csv: has no collective"),
         "nccl.txt": ("h:1:1 [0] NCCL INFO AllReduce: opCount 5 count 3 datatype 99 [nranks=2] x\n", "nccl.txt: line 1: datatype 99 is not known"),
         "cut.txt": ("h:1:1 [0] NCCL INFO AllReduce: opCount 5 count 3 datatype 7 comm 0x1\n", "'' is not a number of ranks"),
         "torch.json": ('[{"name": "gloo:all_reduce", "ph": "X", "ts": 1, "dur": 2, "args": {}}]', "record_shapes=True")}
for name, (text, says) in wrong.items():
    (work / name).write_bytes(text.encode("latin-1"))
    refused("job", name, says=says)
refused("job", "missing.json", says="missing.json")
refused("job", "gain.csv", "--library", "job.db", says="--machine MACHINE")
refused("job", "gain.csv", "--spec", "x.json", says="--machine MACHINE")
refused("job", "gain.csv", "--machine", "nowhere", says="nowhere")
refused("job", "gain.csv", "--machine", "full:16", "--library", "job.db", says="job.db")
refused("job", "gain.csv", "--machine", "ring:3", "--spec", "x.json", says="ring:3: has no level with as many ranks")
assert "nothing to compare" in run("job", "gain.csv", "--machine", "ring:3")
