"""GOAL and execution traces of Chakra have the messages of the schedule, and orders that carry it out: read
here by nothing of Chorale's, and by protoc where that is there. What they say is held against the schedule in
the result's file.

usage: simulators.py CHORALE"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
from program import refused, run_chorale, work  # noqa: E402

BYTES = 100_000


def messages_of(result, point):
    """(step, src, dst) -> chunks, by the schedule."""
    chunks = collections.Counter()
    for s, step in enumerate(point["schedule"]):
        for send in step["sends"]:
            chunks[s, send[1], send[2]] += 1
    return chunks


def block_bytes(result):
    """Of a message of BYTES: a vector of AllReduce and Broadcast is one block, of the others one per rank."""
    ranks = result["topology"]["ranks"]
    return BYTES if result["collective"]["collective"] in ("allreduce", "broadcast") else -(-BYTES // ranks)


class Operation:
    def __init__(self, kind, peer=None, bytes=0, tag=None):
        self.kind, self.peer, self.bytes, self.tag, self.after = kind, peer, bytes, tag, set()


def carried_out(operations):
    """Steps of each rank, by waves: in a wave all that is ready is done, and what is sent arrives in the
    next. [(rank, name)] -> wave."""
    done, wave = {}, 0
    sent = {}
    while len(done) < sum(map(len, operations.values())):
        ready = [(rank, name) for rank, own in operations.items() for name, op in own.items()
                 if (rank, name) not in done and all(done.get((rank, other), wave) < wave for other in op.after)
                 and (op.kind != "recv" or sent.get((op.peer, rank, op.tag), wave) < wave)]
        assert ready, f"nothing is ready after {len(done)} operations"
        for rank, name in ready:
            done[rank, name] = wave
            op = operations[rank][name]
            if op.kind == "send":
                sent[rank, op.peer, op.tag] = wave
        wave += 1
    return done


def judged(operations, result, point, step_of):
    """The messages are the schedule's; nothing is sent before all that its rank does in earlier steps is
    over."""
    chunk = block_bytes(result) / point["chunks"]
    ends = {"send": collections.Counter(), "recv": collections.Counter()}
    for rank, own in operations.items():
        for name, op in own.items():
            if op.kind in ends:
                ends[op.kind][(rank, op.peer, op.tag, op.bytes) if op.kind == "send" else (op.peer, rank, op.tag, op.bytes)] += 1
    assert ends["send"] == ends["recv"] and set(ends["send"].values()) == {1}, "sends and receives do not match"
    found = collections.Counter()
    for rank, own in operations.items():
        for name, op in own.items():
            if op.kind == "send":
                found[step_of(rank, name), rank, op.peer] += op.bytes
    wanted = messages_of(result, point)
    assert found.keys() == wanted.keys() and all(abs(found[key] - wanted[key] * chunk) <= 1 for key in wanted), (found, wanted)
    done = carried_out(operations)
    for rank, own in operations.items():
        for name, op in own.items():
            if op.kind == "send":
                early = [other for other, before in own.items() if before.kind != "calc" and step_of(rank, other) < step_of(rank, name)
                         and done[rank, other] >= done[rank, name]]
                assert not early, f"rank {rank} sends {name} before {early}"


def goal_of(text):
    """Ranks, their operations by label, and what each requires."""
    lines = text.splitlines()
    ranks = int(re.fullmatch(r"num_ranks (\d+)", lines[0])[1])
    operations, own = {}, None
    for line in lines[1:]:
        if begun := re.fullmatch(r"rank (\d+) \{", line):
            own = operations[int(begun[1])] = {}
        elif op := re.fullmatch(r"(\w+): (send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)", line):
            own[op[1]] = Operation(op[2], int(op[4]), int(op[3]), int(op[5]))
        elif op := re.fullmatch(r"(j\d+: calc 0|call: calc [1-9]\d*)", line):
            own[op[1].split(":")[0]] = Operation("calc")
        elif rule := re.fullmatch(r"(\w+) requires (\w+)", line):
            own[rule[1]].after.add(rule[2])
        else:
            assert line in ("", "}"), line
    assert set(operations) == set(range(ranks))
    return operations


def goal_step(operations):
    """The step of an operation is that of the calc that requires it."""
    steps = {(rank, before): int(name[1:]) for rank, own in operations.items() for name, op in own.items() if op.kind == "calc" for before in op.after
             if before[0] != "j" and before != "call"}
    return lambda rank, name: steps[rank, name]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields_of(data):
    """[(number, value)], of protobuf's wire format: varints, and bytes with a length."""
    at, fields = 0, []
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        assert key & 7 in (0, 2), key
        if key & 7 == 2:
            assert at + value <= len(data)
            value, at = data[at:at + value], at + value
        fields.append((key >> 3, value))
    return fields


def delimited(data):
    at, parts = 0, []
    while at < len(data):
        size, at = varint(data, at)
        parts.append(data[at:at + size])
        at += size
    assert at == len(data)
    return parts


def chakra_node(data):
    node = {"after": [], "attr": {}}
    for number, value in fields_of(data):
        if number == 5:
            at = 0
            while at < len(value):
                dependency, at = varint(value, at)
                node["after"].append(dependency)
        elif number == 10:
            (one, name), (kind, held) = fields_of(value)
            assert one == 1 and kind == {"is_cpu_op": 27, "comm_size": 9}.get(name.decode(), 7), (name, kind)
            node["attr"][name.decode()] = held
        else:
            node[{1: "id", 2: "name", 3: "type"}[number]] = value
    return node


# As the format has it, of what is written: for protoc, which knows nothing of ours.
PROTO = """syntax = "proto3";
message Attribute { string name = 1; int32 int32_val = 7; int64 int64_val = 9; bool bool_val = 27; }
enum Type { INVALID = 0; SEND = 5; RECV = 6; }
message Node { uint64 id = 1; string name = 2; Type type = 3; repeated uint64 data_deps = 5; repeated Attribute attr = 10; }
message GlobalMetadata { string version = 1; }
"""


def protoc(message, data):
    (work / "et.proto").write_text(PROTO)
    done = subprocess.run(["protoc", f"--decode={message}", "-I", work, "et.proto"], input=data, capture_output=True, check=True, cwd=work)
    return done.stdout.decode()


for machine, collective in [("dgx1", "allreduce"), ("ring:5", "alltoall"), ("dgx-a100:2", "broadcast"), ("hub:4", "reducescatter")]:
    run_chorale("frontier", machine, collective, "--max-chunks", 2, "--time-limit", "1s", "--json", "f.json", "-q", code=(0, 3))
    result = json.loads((work / "f.json").read_text())
    for number, point in [(i, p) for i, p in enumerate(result["points"]) if p["on_frontier"]][:3]:
        for target in ("goal", "chakra"):
            run_chorale("emit", "f.json", "--target", target, "--bytes", BYTES, "--point", number, "-o", target)
        operations = goal_of(next((work / "goal").glob("*.goal")).read_text())
        judged(operations, result, point, goal_step(operations))
        # Each rank begins with the call: what it sends first requires that.
        call_us = result["topology"].get("call_us", 0)
        for own in operations.values():
            assert ("call" in own) == (call_us > 0 and bool(own)), own
            firsts = [op for op in own.values() if op.kind == "send" and not any(before[0] == "j" for before in op.after)]
            assert call_us == 0 or all("call" in op.after for op in firsts), own

        folder = next((work / "chakra").iterdir())
        operations = {}
        for rank in range(result["topology"]["ranks"]):
            first, *nodes = delimited((folder / f"rank.{rank}.et").read_bytes())
            version, *about = fields_of(first)
            named = {name.decode(): value for (_, name), (_, value) in (fields_of(each) for _, each in about)}
            assert version == (1, b"0.0.4") and named.keys() == {"collective", "ranks", "message_bytes"}, first
            assert named["collective"].decode() == collective and named["ranks"] == result["topology"]["ranks"] and named["message_bytes"] >= BYTES
            operations[rank] = {}
            for data in nodes:
                node = chakra_node(data)
                node.setdefault("id", 0)
                kind = {5: "send", 6: "recv"}[node["type"]]
                attr = node["attr"]
                assert attr[f"comm_{'src' if kind == 'send' else 'dst'}"] == rank and attr["is_cpu_op"] == 0, node
                op = operations[rank][node["name"].decode(), node["id"]] = Operation(
                    kind, attr["comm_dst" if kind == "send" else "comm_src"], attr["comm_size"], attr["comm_tag"])
                by_id = {each[1]: each for each in operations[rank]}
                op.after = {by_id[each] for each in node["after"]}  # nodes come after what they depend on
                if shutil.which("protoc"):
                    text = protoc("Node", data)
                    assert f'name: "{node["name"].decode()}"' in text and f"type: {kind.upper()}" in text, text
                    assert text.count("data_deps:") == len(node["after"]) and f"int64_val: {attr['comm_size']}" in text, text
        judged(operations, result, point, lambda rank, name: int(re.match(r"step (\d+)", name[0])[1]))
        shutil.rmtree(work / "goal")
        shutil.rmtree(work / "chakra")

refused("emit", "f.json", "--target", "goal", "--epilogue", says="without data")
if not shutil.which("protoc"):
    print("SKIPPED in part: no protoc here (protobuf-compiler), so traces were read by this test alone")
# Messages of a step are posted by distance (ir/program.h): behind a switch the k-th of all ranks go to
# different ranks.
run_chorale("frontier", "hub:5", "alltoall", "--max-chunks", 1, "--json", "hub.json")
run_chorale("emit", "hub.json", "--target", "goal", "--point", 0, "-o", "hub")
ranks = re.split(r"^rank \d+ {$", next((work / "hub").glob("*.goal")).read_text(), flags=re.M)[1:]
for rank, text in enumerate(ranks):
    assert [int(peer) for peer in re.findall(r"send \d+b to (\d+)", text)] == [(rank + k) % 5 for k in range(1, 5)], text
    assert [int(peer) for peer in re.findall(r"recv \d+b from (\d+)", text)] == [(rank - k) % 5 for k in range(1, 5)], text
print("GOAL and Chakra have the schedule's messages")
