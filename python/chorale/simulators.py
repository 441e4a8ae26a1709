"""Schedules as other simulators read them, written of their messages (codegen/simulators/messages.h): GOAL
(Hoefler, Siebert and Lumsdaine 2009), the text of LogGOPSim and ATLAHS, execution traces of Chakra
(MLCommons, et_def.proto), one file per rank, which ASTRA-sim takes as the implementation of a collective, and
what SimGrid replays (simgrid.py).
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple, Union

from chorale.command import Outcome
from chorale.simgrid import simgrid

Messages = Mapping[str, Any]  # what `emit` makes of a schedule: the ranks, a block's bytes, the messages
RankStep = Tuple[int, List[int], List[int]]  # a step in which a rank does anything: numbers of messages

SEND, RECEIVE = 5, 6  # types of Chakra's nodes
README = """# Execution traces of Chakra

rank.N.et is what rank N sends and receives, for blocks of {} bytes. In the system file of ASTRA-sim:

```
"all-reduce-implementation-custom": ["PATH/rank"]
```

or likewise of another collective. ASTRA-sim has links of its own; its GB is 2^30 bytes, where Chorale's is \
1e9.
"""


def steps_of(messages: Messages) -> List[List[RankStep]]:
    """By rank, its steps in order; messages are in the order in which they are posted."""
    ranks: List[List[RankStep]] = [[] for _ in range(messages["ranks"])]

    def step_of(rank: int, step: int) -> RankStep:
        if not ranks[rank] or ranks[rank][-1][0] != step:
            ranks[rank].append((step, [], []))
        return ranks[rank][-1]

    for number, (step, src, dst, *_) in enumerate(messages["messages"]):
        step_of(src, step)[1].append(number)
        step_of(dst, step)[2].append(number)
    return ranks


def goal(messages: Messages) -> Dict[str, str]:
    """An operation per line, and which operations it requires. An operation of no duration joins what a
    rank does in a step, and the sends of its next step require it, so there are as many lines as messages
    and not as many as pairs of them. A rank begins with the call, as long as it takes. LogGOPSim has no
    links: only its own L, o, g and G count."""
    text = f"num_ranks {messages['ranks']}\n"
    for rank, steps in enumerate(steps_of(messages)):
        operations = "".join(_goal_step(messages, steps, at) for at in range(len(steps)))
        if steps and messages["call_us"] > 0:
            operations = f"call: calc {round(1000 * messages['call_us'])}\n" + operations
        text += f"\nrank {rank} {{\n{operations}}}\n"
    return {"": text}


def _goal_step(messages: Messages, steps: Sequence[RankStep], at: int) -> str:
    """Numbers of messages are their tags, and with the letter of the operation their labels."""
    step, sends, receives = steps[at]
    first = "call" if messages["call_us"] > 0 else ""
    join, before = f"j{step}", f"j{steps[at - 1][0]}" if at else first
    lines, requirements = [], []
    for i in sends:
        _, _, dst, size, *_ = messages["messages"][i]
        lines.append(f"s{i}: send {size}b to {dst} tag {i}")
        requirements += [f"s{i} requires {before}"] * bool(before) + [f"{join} requires s{i}"]
    for i in receives:
        _, src, _, size, *_ = messages["messages"][i]
        lines.append(f"r{i}: recv {size}b from {src} tag {i}")
        requirements.append(f"{join} requires r{i}")
    requirements += [f"{join} requires {before}"] * bool(before)
    return "".join(f"{line}\n" for line in [*lines, f"{join}: calc 0", *requirements])


def varint(value: int) -> bytes:
    """Of protocol buffers ("Encoding"): seven bits a byte, the lowest first."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(parts + bytes([value]))


def field(number: int, value: Union[int, str, bytes]) -> bytes:
    """A field of a message: a varint, or a length and bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + sized(value.encode() if isinstance(value, str) else value)


def sized(message: bytes) -> bytes:
    return varint(len(message)) + message


def attribute(name: str, kind: int, value: Union[int, str]) -> bytes:
    """A name and one field, whose number is the type: 7 int32, 9 int64, 27 bool, 29 text."""
    return field(1, name) + field(kind, value)


def chakra(messages: Messages) -> Dict[str, Union[str, bytes]]:
    """A file has messages, each after its length: GlobalMetadata, the same in every file (its version and,
    unless it is a custom one, the collective), then a node per operation."""
    about = field(1, "0.0.4")
    if messages["collective"]:
        for each in (attribute("collective", 29,
                               messages["collective"]), attribute("ranks", 9, messages["ranks"]),
                     attribute("message_bytes", 9, messages["message_bytes"])):
            about += field(2, each)
    files: Dict[str, Union[str, bytes]] = {
        f"rank.{rank}.et": sized(about) + _trace(messages, steps)
        for rank, steps in enumerate(steps_of(messages))
    }
    return {**files, "README.md": README.format(messages["block_bytes"])}


def _trace(messages: Messages, steps: Sequence[RankStep]) -> bytes:
    """Nodes are numbered from 0. A send depends on all that its rank sends and receives in the last step
    in which it does anything; receives are posted from the start. Tags are numbers of messages, the same
    at both ends."""
    nodes: List[bytes] = []
    before: List[int] = []
    for step, sends, receives in steps:
        first = len(nodes)
        for i, kind in [*((i, SEND) for i in sends), *((i, RECEIVE) for i in receives)]:
            _, src, dst, size, *_ = messages["messages"][i]
            name = f"step {step}, send to {dst}" if kind == SEND else f"step {step}, receive from {src}"
            node = field(1, len(nodes)) + field(2, name) + field(3, kind)
            if kind == SEND and before:
                node += field(5, b"".join(map(varint, before)))
            for each in (attribute("is_cpu_op", 27, 0), attribute("comm_size", 9, size),
                         attribute("comm_src", 7, src), attribute("comm_dst", 7,
                                                                  dst), attribute("comm_tag", 7, i)):
                node += field(10, each)
            nodes.append(node)
        before = list(range(first, len(nodes)))
    return b"".join(map(sized, nodes))


WRITERS: Dict[str, Callable[[Messages], Mapping[str, Union[str, bytes]]]] = {
    "goal": goal,
    "chakra": chakra,
    "simgrid": simgrid
}


def written(target: str, path: str, messages: str) -> Dict[str, Union[str, bytes]]:
    """The files of a target, by path: `path` itself, or a folder of that name."""
    files = WRITERS[target](json.loads(messages))
    return {f"{path}/{name}" if name else path: contents for name, contents in files.items()}


def perform(question: Mapping[str, Any]) -> Outcome:
    """The files of `chorale emit` and `chorale simulate`, of each path's messages."""
    outcome = Outcome()
    for path, messages in question["points"]:
        for name, contents in written(question["target"], path, messages).items():
            outcome.files.append(
                (name,
                 contents if isinstance(contents, str) else contents.decode("utf-8", "surrogateescape")))
    return outcome
