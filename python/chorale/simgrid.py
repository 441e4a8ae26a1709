"""A schedule for SimGrid (SMPI 3.32): the machine as a platform, and the schedule as a trace per process, which
smpirun replays. With the options of replay.sh SimGrid is the plain alpha-beta fluid model, so its time is that
of cost/program_time.h, by a simulator of others.

A link is a link of its bandwidth and latency, and the route between two adjacent ranks. A shared limit is one
more link without latency in the routes that it bounds; links whose bytes take k times as long under one limit
go over it k times. All routes have the same number of links, filled up with one that bounds nothing: the
shortest route between neighbours is their link, and other ranks are reached over the fewest links, by ranks
that forward at once.

A relay is a process that passes messages on, for a link that a route cannot stand for. A pair of hosts has one
route, so the other links of the pair have a relay. SimGrid shares a limit by latencies, as TCP does, and from
the end of the latency on, so under a limit with different latencies all links have one: the route to it has
the bandwidth and no latency, and what arrives there is announced to both ends a latency later.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

from chorale.errors import InputError

Messages = Mapping[str, Any]  # codegen/simulators/messages.h
Message = Tuple[int, int, int, int, int]  # a step, from, to, bytes, a link

# Of SMPI: bytes that it adds to a message, and the data type of traces.
ENVELOPE, BYTE = 16, 6
# That a route goes over a limit.
MOST_OVER_LIMIT = 32
# Hosts: the table of Floyd takes their cube, and routes by Dijkstra a search each.
MOST_FLOYD = 400
UNBOUNDED = 1e18  # bytes per second
MOST_BYTES = 1e9  # of a message, which MPI can count

# Each differs from the default, which corrects for clusters and TCP, or hides what is sent.
OPTIONS = {
    "network/model:CM02": "flows share links evenly",
    "network/latency-factor:1": "latencies are those of the platform",
    "network/bandwidth-factor:1": "so are bandwidths",
    "network/weight-S:0": "shares do not depend on bandwidths",
    "network/crosstraffic:0": "no acknowledgements in the other direction",
    "network/TCP-gamma:0": "no windows",
    "network/optim:Full": "all shares are computed again when one changes; 'Lazy' is up to 9 % off",
    "smpi/simulate-computation:no": "only messages take time",
    "smpi/send-is-detached-thresh:0": "a message is sent when it has arrived",
    "surf/precision:1e-13": "seconds, far below a nanosecond",
    "smpi/display-timing:yes": "prints the simulated time",
}

SCRIPT = """#!/bin/sh
# Replays the traces in SimGrid; further options of smpirun may follow.
cd "$(dirname "$0")" || exit 2
exec smpirun -np "$(wc -l <hosts)" -platform platform.xml -hostfile hosts \\
{}  --log=root.thresh:critical --log=smpi_utils.thresh:info "$@" -replay traces
"""

README = """# {}, for SimGrid

Blocks of {} bytes. `sh replay.sh` needs smpirun (on Debian: libsimgrid-dev, 3.32) and prints the simulated
time.

| file | what it is |
|---|---|
| platform.xml | a link of each link of the machine, and one of each shared limit |
| hosts | the ranks in order, then processes that relay what one route cannot carry |
| traces | the files *.trace, one per process: what it sends and receives in each step |
| replay.sh | smpirun with the options below |

These options make SimGrid the plain alpha-beta model, in which a message of b bytes over a link takes its
latency and b over its share of the bandwidth:

| option | what for |
|---|---|
{}
SMPI has an envelope of {} bytes on each message, which the traces leave out.

A program over MPI runs on the same machine:

```
smpicxx program.cpp -o program
smpirun -np {} -platform platform.xml -hostfile hosts OPTIONS ./program
```
"""


def simgrid(messages: Messages) -> Dict[str, str]:
    """platform.xml, hosts, traces and the files that it lists, replay.sh, which prints "Simulated time: S
    seconds", and README.md. Raises InputError for a limit whose links have rates that no integers relate."""
    machine = {"limits": [], "call_us": 0, **messages["machine"]}
    relayed = _relayed_links(machine)
    hosts = [f"rank{n}" for n in range(messages["ranks"])] + [f"relay{l}" for l in sorted(relayed)]
    relay_of = {l: messages["ranks"] + i for i, l in enumerate(sorted(relayed))}
    traces = _traces(machine, _by_shares(machine, messages), relay_of)
    table = "".join(f"| `--cfg={option}` | {why} |\n" for option, why in OPTIONS.items())
    return {
        **{f"{host}.trace": trace for host, trace in zip(hosts, traces)},
        "platform.xml": _platform(machine, hosts, relayed),
        "hosts": "".join(f"{host}\n" for host in hosts),
        "traces": "".join(f"{host}.trace\n" for host in hosts),
        "replay.sh": SCRIPT.format("".join(f"  --cfg={option} \\\n" for option in OPTIONS)),
        "README.md": README.format(messages["title"], messages["block_bytes"], table, ENVELOPE,
                                   messages["ranks"]),
    }


def _relayed_links(machine: Mapping[str, Any]) -> Set[int]:
    """A limit has relays for all of its links, or for none."""
    links = machine["links"]
    first: Dict[Tuple[int, int], int] = {}
    relayed = {l for l, link in enumerate(links) if first.setdefault((link["src"], link["dst"]), l) != l}
    changed = True
    while changed:
        changed = False
        for limit in machine["limits"]:
            under = set(limit["links"])
            differ = len({links[l]["alpha_us"] for l in under}) > 1
            if not under <= relayed and (differ or under & relayed):
                relayed |= under
                changed = True
    return relayed


def _by_shares(machine: Mapping[str, Any], messages: Messages) -> List[Message]:
    """SimGrid shares a limit equally between messages, by their number; the model shares it by chunks. The two
    agree if every message under a limit carries as many chunks, so these are cut into parts of the greatest
    common divisor of all such counts. Bytes of the first parts are rounded together, so that a sum is not off
    by more than its ends."""
    rows = messages["messages"]
    limited = {l for limit in machine["limits"] for l in limit["links"]}
    common = math.gcd(*(chunks for *_, l, chunks in rows if l in limited))
    chunk_bytes = messages["block_bytes"] / messages["chunks_per_block"]
    most = max((common if l in limited else chunks for *_, l, chunks in rows), default=0)
    splits = max(1, math.ceil(most * chunk_bytes / MOST_BYTES))
    cut: List[Message] = []
    for step, src, dst, _, l, chunks in rows:
        parts = splits * (chunks // common if l in limited else 1)
        ends = [math.floor(chunk_bytes * chunks * part / parts + 0.5) for part in range(parts + 1)]
        cut += [(step, src, dst, end - start, l) for start, end in zip(ends, ends[1:])]
    return cut


def _traces(machine: Mapping[str, Any], messages: Sequence[Message], relay_of: Mapping[int, int]) -> List[str]:
    """By process: ranks by number, then relays. All receives of a process stand first, so that no send waits
    for a receive to be posted. A rank's step is: all sends, waits for them, waits for what comes. Numbers of
    messages are their tags: a request is found by its ends and tag. Ranks begin after the call; what they
    receive before that cannot be there, since all begin together."""
    ranks = machine["ranks"]
    processes = range(ranks + len(relay_of))
    # A relay waits for what it has announced at its end.
    receives, work, endings = ([""] * len(processes) for _ in range(3))
    numbered = [(i, *message) for i, message in enumerate(messages)]

    def line(p: int, what: str, peer: int, tag: int, size: int) -> str:
        return f"{p} {what} {peer} {tag} {max(size - ENVELOPE, 0)} {BYTE}\n"

    def arrives(p: int, src: int, tag: int, size: int) -> None:
        receives[p] += line(p, "irecv", src, tag, size)
        work[p] += f"{p} wait {src} {p} {tag}\n"

    for _, group in itertools.groupby(numbered, key=lambda each: each[1]):
        of_step = list(group)
        for i, _, src, dst, size, l in of_step:
            work[src] += line(src, "isend", relay_of.get(l, dst), i, size)
        # A send over a relay ends when the relay has announced the arrival, a latency after the data.
        for i, _, src, dst, size, l in of_step:
            to = relay_of.get(l, dst)
            work[src] += f"{src} wait {src} {to} {i}\n"
            if to != dst:
                arrives(src, to, i, 0)
        for i, _, src, dst, size, l in of_step:
            arrives(dst, relay_of.get(l, src), i, 0 if l in relay_of else size)
    for i, _, src, dst, size, l in numbered:
        p = relay_of.get(l, -1)
        if p >= 0:
            arrives(p, src, i, size)
            for end in (dst, src):
                work[p] += line(p, "isend", end, i, 0)
                endings[p] += f"{p} wait {p} {end} {i}\n"
    if machine["call_us"] > 0:
        for p in range(ranks):
            work[p] = f"{p} sleep {machine['call_us'] * 1e-6}\n" + work[p]
    return [f"{p} init\n{receives[p]}{work[p]}{endings[p]}{p} finalize\n" for p in processes]


def _platform(machine: Mapping[str, Any], hosts: Sequence[str], relayed: Set[int]) -> str:
    """FATPIPE: not shared, for latencies and what bounds nothing. A link's rate is its bandwidth over its price
    of a byte, a limit's by the fastest link under it. Of a relayed link the latency is a link of its own, from
    the relay on. A route has one direction: the reverse of a link is a link of its own. Where there are
    relays, a path through one is as long as a link without. A relay is reached over the link with no latency,
    and both ends from there in one: that is when a send ends and a message has arrived."""
    lines: List[str] = [f'<host id="{host}" speed="1Gf"/>' for host in hosts]
    # By link: its limits, each as often as its bytes count there.
    over: List[List[str]] = [[] for _ in machine["links"]]

    def link(name: str, rate: float, latency_us: float, shared: bool = True) -> None:
        policy = "" if shared else ' sharing_policy="FATPIPE"'
        lines.append(f'<link id="{name}" bandwidth="{rate}Bps" latency="{latency_us}us"{policy}/>')

    for l, of in enumerate(machine["links"]):
        rate = of["bandwidth"] / of["beta_us_per_byte"] * 1e6
        link(f"link{l}", rate, 0 if l in relayed else of["alpha_us"])
        if l in relayed:
            link(f"latency{l}", UNBOUNDED, of["alpha_us"], False)
    for i, limit in enumerate(machine["limits"]):
        least = min(machine["links"][l]["beta_us_per_byte"] for l in limit["links"])
        link(f"limit{i}", limit["bandwidth"] / least * 1e6, 0)
        for l in limit["links"]:
            over[l] += [f"limit{i}"] * _times_over(machine, limit, l, least)
    link("unbounded", UNBOUNDED, 0, False)
    longest = 1 + max(map(len, over), default=0)

    def route(src: str, dst: str, links: Sequence[str], length: int) -> None:
        filled = [*links, *["unbounded"] * (length - len(links))]
        passed = "".join(f'<link_ctn id="{name}"/>' for name in filled)
        lines.append(f'<route src="{src}" dst="{dst}" symmetrical="NO">{passed}</route>')

    for l, of in enumerate(machine["links"]):
        src, dst, relay = f"rank{of['src']}", f"rank{of['dst']}", f"relay{l}"
        if l in relayed:
            route(src, relay, [f"link{l}", *over[l]], longest)
            route(relay, dst, [f"latency{l}"], longest)
            route(relay, src, [f"latency{l}"], longest)
        else:
            route(src, dst, [f"link{l}", *over[l]], 2 * longest if relayed else longest)
    routing = "Floyd" if len(hosts) <= MOST_FLOYD else "DijkstraCache"
    return "\n".join([
        "<?xml version='1.0'?>", '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">', f'<zone id="machine" routing="{routing}">', *lines, "</zone>",
        "</platform>", ""
    ])


def _times_over(machine: Mapping[str, Any], limit: Mapping[str, Any], l: int, least: float) -> int:
    """How often the bytes of a link count under a limit; 1 for the fastest. Whole up to 1e-6, so that rounding
    changes nothing."""
    link = machine["links"][l]
    times = link["beta_us_per_byte"] / least
    if times >= MOST_OVER_LIMIT + 0.5 or abs(times - round(times)) >= 1e-6:
        raise InputError(
            f"{machine['topology']}: under the limit '{limit.get('name', '')}' a byte of link {link['src']} -> "
            f"{link['dst']} takes {times:.4g} times as long as of others, which a platform of SimGrid cannot "
            f"express (whole times up to {MOST_OVER_LIMIT} can be); give links under one limit the same "
            "beta_us_per_byte, or a multiple")
    return round(times)
