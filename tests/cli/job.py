#!/usr/bin/env python3
"""What a job calls, read from traces of random jobs in each format: written here, so that the list is known.

Usage: job.py CHORALE SEED
"""
import gzip
import itertools
import json
import pathlib
import pickle
import random
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
sys.modules["chorale._chorale"] = None  # as the command has it
from chorale import jobs  # noqa: E402
from chorale.errors import InputError  # noqa: E402

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


asked = 0  # of the program, which starts a Python for each; the others are read in this one


def listed(*files):
    global asked
    found = jobs.job({"traces": [str(work / file) for file in files], "machine": ""})
    asked += 1
    assert asked > 20 or found == json.loads(run("job", *files, "--json", "-")), files
    assert found["chorale_job"] == 1 and found["mismatches"] == [], found["mismatches"]
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


def varint(value):
    return bytes([value & 0x7f | 0x80]) + varint(value >> 7) if value >= 0x80 else bytes([value])


def sized(data):
    return varint(len(data)) + data


def delimited(data):
    """The messages of a file in which each has less than 128 bytes."""
    while data:
        yield data[1:data[0] + 1]
        data = data[data[0] + 1:]


def field(number, value):
    """A varint of an integer, or bytes with their length."""
    return varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + sized(value)


def attribute(name, value):
    """Of an integer in one of the types that Chakra has for it."""
    if isinstance(value, str):
        return field(10, field(1, name.encode()) + field(29, value.encode()))
    kind = dice.choice([7, 9, 11, 13, 15, 17, 21, 25])
    held = {15: field(15, 2 * value), 17: field(17, 2 * value), 21: varint(21 << 3 | 1) + value.to_bytes(8, "little"),
            25: varint(25 << 3 | 1) + value.to_bytes(8, "little")}.get(kind, field(kind, value) if kind < 20 else b"")
    return field(10, field(1, name.encode()) + held)


CHAKRA = {"allreduce": 0, "reduce": 1, "allgather": 2, "broadcast": 5, "alltoall": 6, "reducescatter": 7}


def chakra(calls, rank, groups=True, slower=0):
    """As Chakra's converter writes it: a host's node launches the device's. Without groups those of all ranks only."""
    number = itertools.count()
    parts = [field(1, b"0.0.4") + field(2, field(1, b"schema") + field(29, b"1.0.2-chakra.0.0.4"))]
    names = {}
    for call in calls:
        names.setdefault(tuple(call[1]), str(len(names)))
    listed = [{"pg_name": name, "pg_desc": "some", "pg_size": len(members), "ranks": [] if len(members) == 8 else list(members)}
              for members, name in names.items()]
    if groups:
        parts.append(field(1, next(number)) + field(2, b"## process_group:init ##") + field(3, 1) +
                     field(8, field(1, f"['{json.dumps(listed)}']".encode()) + field(2, b"[[]]")))
    for kind, members, (_, size, _), elements, us in calls:
        if rank not in members or (not groups and len(members) != 8):
            continue
        into, _ = sizes_of(kind, len(members), elements)
        for each in us:
            parts.append(field(1, next(number)) + field(2, b"c10d::op") + field(3, 7) + field(7, 3) + attribute("is_cpu_op", 1))
            device = [attribute("comm_type", CHAKRA[kind]), attribute("comm_size", into * size), attribute("is_cpu_op", 0),
                      field(10, field(1, b"involved_dim") + field(28, field(1, b"\1")))]
            device += [attribute("pg_name", names[tuple(members)])] if groups else []
            dice.shuffle(device)
            parts.append(field(1, next(number)) + field(2, b"ncclDevKernel_x") + field(3, 7) + field(5, varint(0) + varint(300)) +
                         field(7, int(each) + slower) + b"".join(device))
    parts.append(field(1, next(number)) + field(2, b"add") + field(3, 4) + field(7, 1))
    parts.append(field(1, next(number)) + field(2, b"ncclDevKernel_SendRecv") + field(3, 5) + attribute("comm_size", 5))
    return b"".join(map(sized, parts))


def chakra_json(calls, rank):
    """The same as Chakra's jsonizer has it: an object per message, integers of 64 bits as texts."""
    groups = sorted({tuple(call[1]) for call in calls})
    listed = [{"pg_name": str(g), "pg_size": len(members), "ranks": list(members)} for g, members in enumerate(groups)]
    nodes = [{"version": "0.0.4"}, {"id": "0", "name": "## process_group:init ##", "type": "METADATA_NODE", "inputs": {"values": f"['{json.dumps(listed)}']"}}]
    for kind, members, (_, size, _), elements, us in calls:
        for each in us if rank in members else []:
            nodes.append({"id": str(len(nodes)), "type": "COMM_COLL_NODE", "durationMicros": str(int(each)), "attr": [
                {"name": "comm_type", "int64Val": str(CHAKRA[kind])}, {"name": "comm_size", dice.choice(["int64Val", "uint64_val"]): str(sizes_of(kind, len(members), elements)[0] * size)},
                {"name": "pg_name", "stringVal": str(groups.index(tuple(members)))}]})
    if dice.random() < 0.3:
        return json.dumps({"nodes": nodes})
    return "\n".join(json.dumps(each, indent=dice.choice([None, 2])) for each in nodes)


def execution_trace(calls, rank):
    """PyTorch's ExecutionTraceObserver: what the profiler's arguments have, by other names."""
    nodes = [{"name": "[pytorch|profiler|execution_trace|process]", "attrs": []}]
    for kind, members, (name, size, _), elements, us in calls:
        into, out = sizes_of(kind, len(members), elements)
        for _ in us if rank in members else []:
            has = {"collective_name": kind, "dtype": name, "in_msg_nelems": into, "out_msg_nelems": out, "pg_name": str(len(members)), "pg_size": len(members)}
            nodes.append({"name": "record_param_comms", "attrs": [{"name": k, "type": "string" if isinstance(v, str) else "uint64", "value": v} for k, v in has.items()]})
    return json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": nodes})


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

    # Chakra: of several ranks, of one, and without groups those of all ranks.
    whole = [(*call[:4], [int(each) for each in call[4]]) for call in calls]
    for rank in range(8):
        (work / f"chakra.{rank}.et").write_bytes(chakra(whole, rank, slower=rank))
        (work / f"all.{rank}.et").write_bytes(chakra(whole, rank, groups=False))
    found, rows = listed(*[f"chakra.{rank}.et" for rank in dice.sample(range(8), 8)])
    assert {key: row[0] for key, row in rows.items()} == {key: row[0] for key, row in want.items()}, (rows, want)
    assert all(sum(us for call in whole if (call[0], len(call[1])) == key[:2] for us in call[4]) >= row[1] - row[0] * 8 or row[1] == 0
               for key, row in rows.items())
    assert found["skipped"] == [{"operation": "send", "calls": 8}], found["skipped"]
    rank0 = [call for call in whole if 0 in call[1]]
    assert listed("chakra.0.et")[1] == expected(rank0), (rank0,)
    if rank0:
        (work / "chakra.json").write_text(chakra_json(whole, 0))
        assert listed("chakra.json")[1] == expected(rank0), (rank0,)
        (work / "execution.json").write_text(execution_trace(calls, 0))
        (work / "execution.json.gz").write_bytes(gzip.compress((work / "execution.json").read_bytes()))
        assert listed("execution.json.gz") == listed("execution.json"), (rank0,)
        assert {key: row[0] for key, row in listed("execution.json")[1].items()} == {key: row[0] for key, row in expected(rank0).items()}, (rank0,)
    of_all = [call for call in whole if len(call[1]) == 8]
    if of_all:
        assert listed(*[f"all.{rank}.et" for rank in range(8)])[1] == expected(of_all)

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
    (work / "recorder.pickle").write_bytes(pickle.dumps(json.loads((work / "recorder.json").read_text()), dice.choice([2, 4])))
    assert listed("recorder.pickle") == (found, rows)
    (work / "inspector.log").write_text("\n".join(json.dumps(each) for each in inspector) + '\n{"header": {"id": "cut')
    found, rows = listed("inspector.log")
    assert rows == want, (rows, want)
    (work / "nccl.log").write_text("node:100:7 [0] NCCL INFO NET/Socket : Using [0]eth0\n" + "\n".join(log) + "\n")
    found, rows = listed("nccl.log")
    assert rows == expected(calls, times=False), (rows, want)
    # Behind the tags that mpirun puts before each line.
    for tag in ("[{}] ", "[1,{}]<stdout>:"):
        (work / "tagged.log").write_text("".join(tag.format(line.split(":")[1]) + line + "\n" for line in log))
        assert listed("tagged.log")[1] == rows, tag
    (work / "calls.csv").write_text("# of a wrapper\n" + "\n".join(table) + "\n")
    found, rows = listed("calls.csv")
    assert {key[0] for key in rows} == {key[0] for key in want} and sum(row[0] for row in rows.values()) == sum(row[0] for row in want.values())

# What 'emit' writes: one call of the collective, whose messages are not listed. A schedule of
# others has no collective.
for machine, collective, whole, ranks in (("ring:4", "allgather", 1000, 4), ("full:3", "allreduce", 1 << 20, 3), ("full:3", "alltoall", 21, 3)):
    run("frontier", machine, collective, "--max-chunks", 1, "--json", "found.json", "-q")
    run("emit", "found.json", "--target", "chakra", "--point", 0, "--bytes", whole, "-o", f"emitted_{collective}")
    files = sorted((work / f"emitted_{collective}").rglob("*.et"))
    assert len(files) == ranks
    assert listed(*files)[1] == listed(files[0])[1] == {(collective, ranks, whole): [1, 0]}, listed(*files)
    assert listed(*files)[0]["skipped"] == []
one = chakra([("allgather", list(range(8)), TYPES[0], 3, [4])], 0, groups=False)
(work / "least.et").write_bytes(one)
refused("job", "least.et", says="may need those of all ranks")
(work / "version.et").write_bytes(sized(b"") + sized(field(3, 7) + field(10, field(1, b"comm_type") + field(9, 0)) + field(10, field(1, b"comm_size") + field(9, 9))))
assert listed("version.et")[1] == {("allreduce", 0, 9): [1, 0]}
(work / "scheme.et").write_bytes(sized(field(2, field(1, b"collective") + field(29, b"allreduce"))) + sized(field(3, 5)))
refused("job", "scheme.et", says="it has send")
huge = sized(b"") + sized(field(3, 7) + attribute("comm_type", CHAKRA["allgather"]) + field(10, field(1, b"comm_size") + field(9, 2 ** 50)))
(work / "huge.et").write_bytes(huge)
refused("job", "huge.et", "huge.et", says="huge.et: has a message of more than 2^50 bytes")


def complaint(name):
    """Why the file is refused; "" if it is not."""
    try:
        jobs.job({"traces": [str(work / name)] * 2, "machine": ""})
    except InputError as refusal:
        return str(refusal)
    return ""


# Damage: a prefix is refused unless it ends with a message; a flipped byte never ends in more than a line.
ends = set(itertools.accumulate(len(sized(part)) for part in delimited(one)))
for size in dice.sample(range(1, len(one)), 60):
    (work / "cut.et").write_bytes(one[:size])
    said = complaint("cut.et")
    assert said and "cut.et" in said and "\n" not in said or not said and size in ends, (size, said)
for _ in range(60):
    at = dice.randrange(len(one))
    (work / "flip.et").write_bytes(one[:at] + bytes([dice.randrange(256)]) + one[at + 1:])
    assert "\n" not in complaint("flip.et")
(work / "cut.et").write_bytes(one[:1])
refused("job", "cut.et", "cut.et", says=complaint("cut.et").removeprefix(f"{work}/"))
if shutil.which("protoc"):
    (work / "et.proto").write_text('syntax = "proto3"; message A { string name = 1; int64 int64_val = 9; string string_val = 29; } message G { string version = 1; } '
                                   'message N { uint64 id = 1; string name = 2; int32 type = 3; uint64 duration_micros = 7; repeated A attr = 10; }')

    def encoded(kind, text):
        return sized(subprocess.run(["protoc", f"--encode={kind}", "-I", work, "et.proto"], input=text.encode(), capture_output=True, check=True, cwd=work).stdout)
    (work / "protoc.et").write_bytes(encoded("G", 'version: "0.0.4"') + encoded("N", 'id: 9 name: "x" type: 7 duration_micros: 77 '
                                     'attr { name: "comm_type" int64_val: 7 } attr { name: "comm_size" int64_val: 4096 }'))
    assert listed("protoc.et")[1] == {("reducescatter", 0, 4096): [1, 77]}
else:
    print("SKIPPED in part: no protoc here (protobuf-compiler), so traces of Chakra were written by this test and by emit alone")

# The least: one call, one byte, no times. A table without groups.
(work / "least.csv").write_text("bytes,collective,ranks\n1,MPI_Bcast,2\n")
text = run("job", "least.csv")
text_of_least = text
assert text.splitlines()[1].split() == ["broadcast", "2", "ranks", "2", "1", "B", "1", "-", "-"], text

# Gloo, by the sizes of its tensors.
shapes = [{"ph": "X", "name": f"gloo:{name}", "ts": 10, "dur": 20, "args": {"Input Dims": dims, "Input type": [kind]}}
          for name, dims, kind in (("all_reduce", [[3, 5]], "float"), ("all_gather", [[7]], "double"), ("broadcast", [[[2, 2], [3]]], "long int"))]
(work / "gloo.json").write_text(json.dumps({"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 3}, "traceEvents": shapes}))
assert listed("gloo.json")[1] == {("allreduce", 3, 60): [1, 20], ("allgather", 3, 168): [1, 20], ("broadcast", 3, 56): [1, 20]}

# What PyTorch before 2.2 says of NCCL are its tensors and when it launches: nested, of another type, of no
# dimension, in a list instead of an object, and twice by two threads. A gather has no size without its ranks.
old = [{"ph": "X", "name": f"nccl:{name}", "ts": 10, "dur": 20, "tid": thread, "args": {"Input Dims": dims, "Input type": [kind]}} for thread in (1, 2)
       for name, dims, kind in (("all_reduce", [[3, 5]], "c10::BFloat16"), ("_reduce_scatter_base", [[4], [8]], "float"), ("broadcast", [[]], "int"), ("all_gather", [[[2], [2, 3]]], "double"))]
many = {("allreduce", 0, 30): [2, 0], ("reducescatter", 0, 48): [2, 0]}
for name, text, want in (("old.json", old, many), ("ranks.json", {"distributedInfo": {"world_size": 3}, "traceEvents": old[::-1]}, {("allreduce", 3, 30): [2, 0], ("reducescatter", 3, 48): [2, 0], ("allgather", 3, 192): [2, 0]}),
                         ("marked.json", [{"ph": "i", "name": "nccl:all_reduce"}, {"ph": "X", "name": "nccl:barrier", "args": {}}, *old, {}], many)):
    (work / name).write_text(json.dumps(text, indent=1).replace("\n", "\r\n"))
    assert listed(name)[1] == want, (name, listed(name)[1])

# NCCL's profiler plugin: of two ranks a file each, with other events between; a count is of elements, and how
# many ranks a communicator has is not known, so what has blocks is left out. Ranks of one agree.
def plugin(rank, *calls):
    events = [{"name": "Group", "cat": "GROUP", "ph": "b", "id": 0, "pid": 7, "tid": 1, "ts": 1.5, "args": {"groupId": 0}}]
    for at, (name, count, kind) in enumerate(calls):
        same = {"name": name, "cat": "COLL", "id": at, "pid": 7, "tid": 1}
        events += [{**same, "cat": "COLL_API", "ph": "b", "ts": 0, "args": {"count": count, "datatype": kind}}, {**same, "ph": "b", "ts": 9 - at, "args": {
            "SeqNum": at, "CommHash": 6479621443159067765, "Rank": rank, "Count": count, "Datatype": kind}}, {**same, "ph": "e", "ts": 20}]
    return [*dice.sample(events, len(events)), {}]


for kind, size in (("ncclFloat32", 4), ("ncclBfloat16", 2), ("ncclFloat8e4m3", 1), ("ncclUint64", 8)):
    sides = [plugin(rank, ("AllReduce", 2097152, kind), ("Broadcast", 3, kind), ("AllGather", 5, kind), ("AllReduce", 2097152, kind)) for rank in range(2)]
    for rank, trace in enumerate(sides):
        (work / f"plugin_{rank}.json").write_text(json.dumps(trace, indent=dice.choice([None, 1])))
    found, rows = listed("plugin_0.json", "plugin_1.json")
    assert rows == {("allreduce", 0, 2097152 * size): [2, 0], ("broadcast", 0, 3 * size): [1, 0]} == listed("plugin_1.json")[1], rows
    assert found["skipped"] == [{"operation": "AllGather without a size", "calls": 2}], found["skipped"]
for name, trace in (("plugin_2.json", plugin(1, ("AllReduce", 5, "ncclInt8"))), ("plugin_3.json", plugin(0, ("AllReduce", 6, "ncclInt8")))):
    (work / name).write_text(json.dumps(trace))
(odd,) = jobs.job({"traces": [str(work / f"plugin_{n}.json") for n in (2, 3)], "machine": ""})["mismatches"]
assert "bytes in allreduce #1" in odd["mismatch"], odd

# A folder is the traces in it, packed or not, beside what is none; with a file more; and one without any.
calls = job()
for rank in range(8):
    text = json.dumps(kineto(calls, rank)).encode()
    (work / "hta" / "deeper.json").mkdir(parents=True, exist_ok=True)
    (work / "hta" / f"trace_{rank}.json{'.gz' * (rank % 2)}").write_bytes(gzip.compress(text) if rank % 2 else text)
(work / "hta/notes.txt").write_text("no trace\n")
assert listed("hta")[1] == listed(*[f"hta/trace_{rank}.json{'.gz' * (rank % 2)}" for rank in range(8)])[1]
(work / "hta/trace_7.json.gz").rename(work / "last.gz")
assert listed("hta", "last.gz")[0]["calls"] == json.loads(run("job", "last.gz", "hta", "--json", "-"))["calls"]
refused("job", work / "hta/deeper.json", says="has no file that ends in .json, .json.gz, .et; give its traces by name")

# What it would gain: times of 'optimize' for the same sizes, weighted by calls.
(work / "gain.csv").write_text("collective,ranks,bytes,calls,us\nallreduce,16,65536,10,900\nallgather,16,1048576,3,600\nallreduce,5,4096,7,70\n")
found = json.loads(run("job", "gain.csv", "--machine", "dgx-a100:2", "--search-time", "1", "--json", "-", "--spec", "spec.json"))
assert [row["level"] for row in found["rows"]] == ["all", "all", ""], found["rows"]
total, base = 0, 0
for row, calls in zip(found["rows"], found["calls"]):
    if not row["level"]:
        assert row["us"] == row["baseline_us"] == 0 and calls["ranks"] == 5
        continue
    answer = json.loads(run("optimize", "dgx-a100:2", row["collective"], "--sizes", row["message_bytes"], "--search-time", "1", "--json", "-", code=(0, 3)).stdout)["rows"][0]
    assert answer["baseline_us"] == row["baseline_us"] and answer["baseline"] == row["baseline"], (answer, row)
    # Two searches of a second each need not find the same.
    assert 0 < row["us"] <= row["baseline_us"] and 0 < answer["us"] <= row["baseline_us"]
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
assert "your job would gain up to " in text and "its collectives took 100 ms of 1 s" in text, text

# Threads of a process are one rank; what PyTorch before 2.2 calls a collective has the sizes of its tensors.
for name, want in [("two_threads.log", {"allgather": (4, 16 << 20)}), ("old_profile.json", {"allreduce": (1, 4 << 20), "reducescatter": (1, 16 << 20)})]:
    its, _ = listed(pathlib.Path(__file__).resolve().parents[1] / "data/repro/public" / name)
    assert {row["collective"]: (row["calls"], row["message_bytes"]) for row in its["calls"]} == want, (name, its["calls"])

# Of a long profile only the events of collectives are parsed: by the same rules, whatever is between them.
from chorale import traces  # noqa: E402

for trial in range(20):
    calls = job()
    trace = kineto(calls, 0, kernels=trial % 2 == 0)
    for _ in range(40):
        trace["traceEvents"].insert(dice.randrange(len(trace["traceEvents"]) + 1), dice.choice([
            {"ph": "X", "cat": "cpu_op", "name": '"Collective name" {"ph": "X"', "ts": 9, "dur": 3, "args": {"a": '{"name":'}},
            {"ph": "f", "id": 1, "name": "ac2g", "ts": 7}, {"name": "process_name", "ph": "M", "args": {"name": "python"}},
            {"ph": "X", "cat": "gpu_user_annotation", "name": "nccl:all_reduce", "ts": 5, "dur": 1, "args": {"External id": 1}}]))
    (work / "long.json").write_text(json.dumps(trace, indent=dice.choice([None, 1])))
    answers = []
    for traces.MOST_PARSED in (1 << 30, 0):
        try:
            answers.append(traces.job_of([str(work / "long.json")]))
        except traces.InputError as error:
            answers.append(str(error))
    assert answers[0] == answers[1], (trial, answers)

# Ranks that differ from their group are named: of random jobs in which one rank is changed, in each format.


def of_rank(calls, rank, kind, group="0", members="[0, 1, 2, 3]", first=1):
    """A trace of [(collective, bytes, more)] of a group."""
    listing = json.loads(members)
    if kind == "recorder":
        return {"pg_config": {group: {"ranks": members}}, "entries": [
            {"process_group": [group, "x"], "profiling_name": "nccl:" + name, "input_sizes": [[size]], "input_dtypes": [more.get("dtype", "Byte")], "output_sizes": [[size]],
             "output_dtypes": ["Byte"], "collective_seq_id": first + at, "is_p2p": False, "state": more.get("state", "completed")} for at, (name, size, more) in enumerate(calls)]}
    if kind == "chakra":
        return [{"version": "0.0.4"}, {"name": "## process_group:init ##", "type": "METADATA_NODE", "inputs": {"values": f"['{json.dumps([{'pg_name': group, 'ranks': listing}])}']"}}] + [
            {"type": "COMM_COLL_NODE", "startTimeMicros": str(10 + at), "attr": [{"name": "comm_type", "int64Val": str(CHAKRA[name])}, {"name": "comm_size", "int64Val": str(size)},
             {"name": "pg_name", "stringVal": group}]} for at, (name, size, _) in dice.sample([*enumerate(calls)], len(calls))]
    events = [{"ph": "X", "cat": "kernel", "name": "k", "ts": at, "dur": 1, "args": {
        "Collective name": name, "In msg nelems": size, "Out msg nelems": size, "dtype": "Byte", "Group size": len(listing), "Process Group Name": group, "Process Group Ranks": members,
        **more}} for at, (name, size, more) in enumerate(calls)]
    dice.shuffle(events)  # their times have the order
    return {"traceEvents": events, "distributedInfo": {"rank": rank, "world_size": len(listing)}}


def differ(*ranks, name="trace_{}.json"):
    files = [work / name.format(rank) for rank in range(len(ranks))]
    for file, trace in zip(files, ranks):
        file.write_text(json.dumps(trace))
    return jobs.job({"traces": list(map(str, dice.sample(files, len(files)))), "machine": ""})["mismatches"]


def said(*ranks, **options):
    return [row["mismatch"] for row in differ(*ranks, **options)]


for kind in ("profile", "recorder", "chakra"):
    for _ in range(8):
        first = dice.randrange(1, 50) if kind == "recorder" else 1
        some = [(dice.choice(["allreduce", "allgather", "broadcast"]), dice.randrange(1, 9), {}) for _ in range(dice.choice([1, 2, 9]))]
        calls = [dice.choice(some) for _ in range(dice.randrange(1, 40))]  # also all alike
        at, odd = dice.randrange(len(calls)), dice.randrange(4)
        name, size, _ = calls[at]
        rest = "ranks " + {0: "1-3", 1: "0, 2-3", 2: "0-1, 3", 3: "0-2"}[odd]

        def changed(*new):
            return said(*(of_rank(calls[:at] + list(new) + calls[at + 1:] if rank == odd else calls, rank, kind, first=first) for rank in range(4)))
        assert changed(calls[at]) == []
        assert changed(("reduce", size, {})) == [f"rank {odd} is in reduce #{first + at} where {rest} are in {name} #{first + at}: {rest} wait for rank {odd} (group 0)"]
        assert changed((name, size + 1, {})) == [f"rank {odd} has {size + 1} bytes in {name} #{first + at} where {rest} have {size} bytes in {name} #{first + at} (group 0)"]
        if at:
            ended = differ(*(of_rank(calls[:at] if rank == odd else calls, rank, kind, first=first) for rank in range(4)))
            assert [(row["ranks"], row["number"], row["members"]) for row in ended] == [([odd], first + at, "0 1 2 3")], ended
            assert ended[0]["mismatch"] == f"rank {odd} ends before {name} #{first + at} that {rest} have (group 0)", ended
    of_all = [of_rank([("allreduce", 8, {})] * 3 if rank != 2 else [], rank, kind) for rank in range(4)]
    assert said(*of_all) == ["rank 2 has no call where ranks 0-1, 3 have some (group 0)"]
    # Two groups of one name; a group of one; files whose ranks are not known, and those of other names.
    assert said(*(of_rank([("allreduce" if rank < 2 else "allgather", 8, {})], rank, kind, members="[0, 1]" if rank < 2 else "[2, 3]") for rank in range(4))) == []
    assert said(of_rank([("allreduce", 8, {})], 0, kind, members="[0]")) == said(of_rank([("allreduce", 8, {})], 0, kind)) == []
    two = said(of_rank([("allreduce", 8, {})], 0, kind, members="[0, 1]"), of_rank([("allgather", 8, {})], 1, kind, members="[0, 1]"), name="1{}.json")
    a, b = ("rank 0", "rank 1") if kind == "profile" else (f"{work}/10.json", f"{work}/11.json")
    assert two == [f"{b} is in allgather #1 where {a} is in allreduce #1: each waits for the other (group 0)"], two
    # Without members, more ranks than the group has: two groups of one name.
    assert said(*(of_rank([("allreduce" if rank < 2 else "allgather", 8, {"Process Group Ranks": "", "Group size": 2})], rank, "profile") for rank in range(4))) == []

# A trace that begins late or early is compared where it overlaps.
calls = [("allreduce", size, {}) for size in dice.sample(range(1, 1000), 20)]
alike = [("allreduce", 1 + at % 5 // 4, {}) for at in range(100)]
assert said(*(of_rank(alike[rank:90 + rank // 3], rank, "profile") for rank in range(4))) == ["ranks 0-2 end before allreduce #91 that rank 3 has (group 0)"]
assert said(*(of_rank(calls[rank:], rank, "profile") for rank in range(4))) == []
assert said(*(of_rank(calls[3 - rank:16 - rank] + calls[16 - rank:17] * (rank == 0), rank, "profile") for rank in range(4)))[0].endswith(" have (group 0)")
# Of the recorder: types, and who has started; a ring of entries has lost the first of some ranks.
step = [("allreduce", 8, {})] * 3
states = [of_rank(step[rank:] + [("allreduce", 8, {"state": "scheduled" if rank == 1 else "started"})], rank, "recorder", first=1 + rank) for rank in range(4)]
assert said(*states) == ["rank 1 has not started allreduce #4 that ranks 0, 2-3 have: ranks 0, 2-3 wait for rank 1 (group 0)"]
hung = [of_rank(step if rank == 3 else step + [("allgather", 8, {"state": "started"})], rank, "recorder") for rank in range(4)]
assert said(*hung) == ["rank 3 ends before allgather #4 that ranks 0-2 have: ranks 0-2 wait for rank 3 (group 0)"]
typed = [of_rank([("allreduce", 8, {"dtype": "Byte" if rank else "Char"})], rank, "recorder") for rank in range(4)]
assert said(*typed) == ["rank 0 has Char in allreduce #1 where ranks 1-3 have Byte in allreduce #1 (group 0)"]
# The root of a gather has all; calls that are launched together have one number.
for kind in ("profile", "recorder"):
    assert said(*(of_rank([("gather", 8 if rank else 32, {"In msg nelems": 8})] if kind == "profile" or rank else [], rank, kind) for rank in range(4))) == (
        [] if kind == "profile" else ["rank 0 has no call where ranks 1-3 have some (group 0)"])
together = [of_rank([("allgather" if rank == 1 else "allreduce", 8, {}), ("allreduce", 8, {})], rank, "recorder") for rank in range(4)]
for trace in together:
    trace["entries"][1]["collective_seq_id"] = 1
    trace["entries"].append({**trace["entries"][0], "collective_seq_id": 2})
assert said(*together) == ["rank 1 is in allgather #1 where ranks 0, 2-3 are in allreduce #1: ranks 0, 2-3 wait for rank 1 (group 0)"]
# Without members numbers in names are ranks if the names have the word.
for trace in together:
    del trace["pg_config"]
assert said(*together, name="of_rank_{}.json")[0].startswith("rank 1 is in allgather #1 ")
assert said(*together)[0].startswith(f"{work}/trace_1.json is in allgather #1 where {work}/trace_0.json, ")
# Splits of random Alltoalls, and one that is changed.
for _ in range(10):
    rows = [[dice.randrange(1, 5) for _ in range(4)] for _ in range(4)]
    takes = [[rows[a][b] for a in range(4)] for b in range(4)]

    def splits():
        return said(*(of_rank([("all_to_allv", sum(rows[rank]), {"Out msg nelems": sum(takes[rank]), "In split size": str(rows[rank]), "Out split size": str(takes[rank])})], rank, "profile") for rank in range(4)))
    assert splits() == []
    a, b, off = dice.randrange(4), dice.randrange(4), dice.choice([-1, 1, 2])
    takes[b][a] += off
    assert splits() == [f"rank {a} sends {rows[a][b]} to rank {b} in alltoall #1, and rank {b} expects {rows[a][b] + off}{f': rank {b} waits for rank {a}' if off > 0 else ''} (group 0)"]
assert "and rank" in run("job", *(work / f"trace_{rank}.json" for rank in range(4)))

# Wrong input.
wrong = {"packed.gz": ("\x1f\x8b\x08", "packed.gz: is not what gzip writes"), "text.txt": ("hello\n", "text.txt: line 1: is not a known trace"), "empty.json": ("{}", "empty.json: is not a known trace"),
         "half.json": ('{"traceEvents": [', "half.json"), "none.json": ('{"traceEvents": []}', "none.json: has no collective with a size"),
         "pickle": ("\x80\x04", "pickle: is not a dump of PyTorch's flight recorder"), "saved": ("PK\x03\x04", "saved: is what torch.save writes"),
         "evil": (pickle.dumps({"entries": [print]}, 2).decode("latin-1"), "names __builtin__.print, which no dump"), "list.json": ('[1, "a", {"ph": 3}]', "has no collective with a size"),
         "cells.csv": ("collective,ranks,bytes\nallreduce,4\n", "cells.csv: line 2: has other columns than the header"),
         "number.csv": ("collective,ranks,bytes\nallreduce,-4,5\n", "number.csv: line 2: '-4' is not a number of ranks"),
         "time.csv": ("collective,ranks,bytes,us\nallreduce,4,5,soon\n", "'soon' is not a time"),
         "infinite.csv": ("collective,ranks,bytes,us\nallreduce,4,5,inf\n", "'inf' is not a time"),
         "empty.csv": ("", "empty.csv: has no collective"),
         "tuned.txt": ("[0] NCCL INFO 805306368 Bytes -> Algo 1 proto 2 time 3970.7\n", "tuned.txt: has no collective with a size and ranks"),
         "nccl.txt": ("h:1:1 [0] NCCL INFO AllReduce: opCount 5 count 3 datatype 99 [nranks=2] x\n", "nccl.txt: line 1: datatype 99 is not known"),
         "cut.txt": ("h:1:1 [0] NCCL INFO AllReduce: opCount 5 count 3 datatype 7 comm 0x1\n", "'' is not a number of ranks"),
         # Numbers beyond what a job can have.
         "size.json": ('[{"name": "x", "ph": "X", "args": {"Collective name": "allreduce", "Group size": 1e18, "In msg nelems": 3, "dtype": "Float"}}]',
                       "size.json: [0].args.Group size: 1e+18 is out of range"),
         "elements.json": ('[{"name": "x", "ph": "X", "args": {"Collective name": "allreduce", "Group size": 2, "In msg nelems": 1e18, "dtype": "Double"}}]',
                           "elements.json: [0].args: has a message of more than 2^50 bytes"),
         "world.json": ('{"traceEvents": [], "distributedInfo": {"world_size": 1e18}}', "world.json: distributedInfo.world_size: 1e+18 is out of range"),
         "dims.json": ('[{"name": "gloo:all_reduce", "ph": "X", "ts": 1, "dur": 2, "args": {"Input Dims": [[1e18, 1e18, 1e18]]}}]',
                       "dims.json: [0].args: has a message of more than 2^50 bytes"),
         "gather.json": ('{"traceEvents": [{"name": "gloo:all_gather", "ph": "X", "ts": 1, "dur": 2, "args": {"Input Dims": [[1e12]]}}], '
                         '"distributedInfo": {"world_size": 1e9}}', "has a message of more than 2^50 bytes"),
         "entry.json": ('{"entries": [{"profiling_name": "nccl:all_reduce", "input_sizes": [[1e18, 1e18]]}]}', "entry.json: entries[0]: has a message of"),
         "perf.log": ('{"header": {"id": "a", "rank": 0, "n_ranks": 2}, "coll_perf": {"coll": "AllReduce", "coll_msg_size_bytes": 1e18}}', "has a message of"),
         "ranks.log": ('{"header": {"id": "a", "rank": 0, "n_ranks": 1e18}, "coll_perf": {"coll": "AllReduce"}}', "n_ranks: 1e+18 is out of range"),
         "count.txt": ("h:1:1 [0] NCCL INFO AllGather: opCount 5 count 999999999999999 datatype 8 [nranks=999999999] x\n", "count.txt: line 1: has a message of"),
         "nranks.csv": ("collective,ranks,bytes\nallreduce,4294967300,5\n", "nranks.csv: line 2: '4294967300' is not a number of ranks"),
         "torch.json": ('[{"name": "gloo:all_reduce", "ph": "X", "ts": 1, "dur": 2, "args": {}}]', "record_shapes=True")}
for name, (text, says) in wrong.items():
    (work / name).write_bytes(text.encode("latin-1"))
    refused("job", name, says=says)
# Cut by a limit, while the first search goes on: the exit code says so, and what was read is reported.
done = run("job", "gain.csv", "--machine", "dgx-a100:2", "--search-time", "60", "--time-limit", "4s", "--json", "cut.json", code=3)
assert json.loads((work / "cut.json").read_text())["calls"] == found["calls"]
# It is written in Python: without, and without the package beside the program, a line says so.
refused("job", "gain.csv", env={"PATH": "/nowhere"}, says="chorale job: needs Python, which is not here; install python3")
(work / "silent").mkdir()
(work / "silent/python3").write_text("#!/bin/sh\nexit 0\n")
(work / "silent/python3").chmod(0o755)
refused("job", "gain.csv", env={"PATH": f"{work}/silent:/usr/bin:/bin"}, says="chorale job: its Python wrote no answer")
(work / "bin").mkdir()
shutil.copy(sys.argv[1], work / "bin/chorale")
alone = subprocess.run([work / "bin/chorale", "job", "gain.csv"], capture_output=True, text=True, cwd=work)
assert alone.returncode == 2 and alone.stderr.startswith("chorale: error: chorale job: needs Chorale's Python package") and alone.stderr.count("\n") == 1, alone
# Files of the current folder are none of its modules.
(work / "json.py").write_text("raise SystemExit('the wrong module')")
assert run("job", "least.csv") == text_of_least
(work / "json.py").unlink()
refused("job", "missing.json", says="missing.json")
refused("job", "gain.csv", "--library", "job.db", says="--machine MACHINE")
refused("job", "gain.csv", "--spec", "x.json", says="--machine MACHINE")
refused("job", "gain.csv", "--machine", "nowhere", says="nowhere")
refused("job", "gain.csv", "--machine", "full:16", "--library", "job.db", says="job.db")
refused("job", "gain.csv", "--machine", "ring:3", "--spec", "x.json", says="ring:3: has no level with as many ranks")
assert "nothing to compare" in run("job", "gain.csv", "--machine", "ring:3")
