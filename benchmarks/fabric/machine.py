"""Machines that can be laid out: nodes, directed links with capacities, the routes between ranks, and what a
schedule takes there by the alpha-beta model."""
import collections
import dataclasses
import json
import pathlib
import subprocess


class Refused(Exception):
    """The request cannot be done: one line, what and where."""


@dataclasses.dataclass
class Machine:
    name: str
    ranks: int
    switches: int
    capacity: dict  # (src, dst) -> units; nodes from `ranks` on are switches
    unit: float = 40  # Mbit/s of one unit
    text: dict = dataclasses.field(default_factory=dict)  # as chorale reads it

    @property
    def nodes(self):
        return self.ranks + self.switches

    def pairs(self):
        """Each wire once, whatever its directions."""
        return sorted({tuple(sorted(link)) for link in self.capacity})


def from_text(text, unit=40):
    """A machine of docs/formats.md. Shared limits have no wire that they could be laid out on; switches
    do."""
    if text.get("limits"):
        raise Refused(f"{text['topology']}: shared limits cannot be laid out as links; give a file in which they are switches")
    capacity = collections.defaultdict(int)
    for link in text["links"]:
        ends = [(link["src"], link["dst"])] + ([(link["dst"], link["src"])] if link.get("both_ways") else [])
        for end in ends:
            capacity[end] += link.get("bandwidth", 1)
    machine = Machine(text["topology"], text["ranks"], text.get("switches", 0), dict(capacity), unit, text)
    for src in range(machine.ranks):
        for dst in range(machine.ranks):
            if src != dst and not route(machine, src, dst):
                raise Refused(f"{machine.name}: there is no way from {src} to {dst}")
    return machine


def described(name, ranks, links, switches=0, unit=40):
    """links: (a, b, units), in both directions."""
    text = {"topology": name, "ranks": ranks, "switches": switches,
            "links": [{"src": a, "dst": b, "bandwidth": units, "both_ways": True} for a, b, units in links]}
    return from_text(text, unit)


def _full(first, count, units):
    return [(first + i, first + j, units) for i in range(count) for j in range(i + 1, count)]


def _mesh(rows, columns, without=()):
    links = [(r * columns + c, r * columns + c + 1, 1) for r in range(rows) for c in range(columns - 1)]
    links += [(r * columns + c, (r + 1) * columns + c, 1) for r in range(rows - 1) for c in range(columns)]
    return [link for link in links if link[:2] not in without]


# The sum of all rates has to be carried by the processors of this machine: about 1.6 Gbit/s by two.
NAMED = {
    "ring4": lambda: described("ring4", 4, [(i, (i + 1) % 4, 1) for i in range(4)]),
    "ring8": lambda: described("ring8", 8, [(i, (i + 1) % 8, 1) for i in range(8)]),
    "ring8slow": lambda: described("ring8slow", 8, [(i, (i + 1) % 8, 1 if i == 7 else 4) for i in range(8)], unit=12),
    "two4": lambda: described("two4", 8, _full(0, 4, 2) + _full(4, 4, 2) + [(3, 4, 1)], unit=20),
    "dgx1l": lambda: described("dgx1l", 8, [(0, 1, 2), (1, 4, 2), (4, 5, 2), (5, 6, 2), (6, 7, 2), (7, 2, 2), (2, 3, 2), (3, 0, 2),
                                            (0, 2, 1), (2, 1, 1), (1, 3, 1), (3, 6, 1), (6, 4, 1), (4, 7, 1), (7, 5, 1), (5, 0, 1)],
                               unit=20),
    "star8": lambda: described("star8", 8, [(i, 8, 1) for i in range(8)], switches=1),
    "mesh2x4": lambda: described("mesh2x4", 8, _mesh(2, 4)),
    "mesh2x4cut": lambda: described("mesh2x4cut", 8, _mesh(2, 4, without={(1, 2)})),
}


def machine_of(name, chorale, unit=None):
    """One of NAMED, a file, or what `chorale topology show` knows."""
    if name in NAMED:
        machine = NAMED[name]()
    elif pathlib.Path(name).exists():
        machine = from_text(json.loads(pathlib.Path(name).read_text()))
    else:
        shown = subprocess.run([chorale, "topology", "show", name, "--json"], capture_output=True, text=True)
        if shown.returncode:
            raise Refused(shown.stderr.strip())
        machine = from_text(json.loads(shown.stdout))
    return dataclasses.replace(machine, unit=unit) if unit else machine


def next_hops(machine):
    """(node, rank) -> node: fewest hops, then the widest bottleneck, then the lowest number."""
    into = collections.defaultdict(list)
    for (src, dst), units in machine.capacity.items():
        into[dst].append((src, units))
    hops = {}
    for rank in range(machine.ranks):
        distance, todo = {rank: 0}, collections.deque([rank])
        while todo:
            node = todo.popleft()
            for src, _ in into[node]:
                if src not in distance:
                    distance[src] = distance[node] + 1
                    todo.append(src)
        width = {rank: float("inf")}
        for node in sorted(distance, key=lambda node: (distance[node], node)):
            if node == rank:
                continue
            best = max((min(width[dst], units), -dst) for (src, dst), units in machine.capacity.items()
                       if src == node and distance.get(dst) == distance[node] - 1)
            width[node], hops[node, rank] = best[0], -best[1]
    return hops


def route(machine, src, dst):
    """The links from rank to rank, as the layout routes them; empty where there is no way."""
    hops = getattr(machine, "_hops", None)
    if hops is None:
        hops = machine._hops = next_hops(machine)
    links, at = [], src
    while at != dst:
        if (at, dst) not in hops:
            return []
        links.append((at, hops[at, dst]))
        at = hops[at, dst]
    return links


def fullest(machine, transfers):
    """transfers: (src, dst, amount). The largest amount over one unit of a link, all of them side by side."""
    load = collections.defaultdict(float)
    for src, dst, amount in transfers:
        for link in route(machine, src, dst):
            load[link] += amount
    return max((amount / machine.capacity[link] for link, amount in load.items()), default=0)


def predicted_us(machine, result, point, block_bytes, alpha_us, beta_us):
    """steps x alpha + the bytes of the fullest link of each step x beta. The links of a result are rank to
    rank; where the machine has no such link, a transfer is on all those that it is routed over."""
    links = result["topology"]["links"]
    chosen = result["points"][point]
    chunk = block_bytes / chosen["chunks"]
    time = 0
    for step in chosen["schedule"]:
        ends = [links[send[3]] for send in step["sends"]]
        time += alpha_us + beta_us * chunk * fullest(machine, [(link["src"], link["dst"], 1) for link in ends])
    return time
