"""Machines from files of other synthesizers and simulators: msccl-tools, TACCL, TE-CCL, ASTRA-sim's
analytical networks and its topologies for ns-3 (docs/topologies.md). They become nodes and lines with
rates in GB/s, which `chorale topology import` reads (topology/import/wiring_json.cpp); numbers are bounded
before anything is made of them.
"""

from __future__ import annotations

import json
import math
import pathlib
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from chorale.command import Outcome, counted, format_bytes, read
from chorale.errors import InputError
from chorale.values import Value, parsed

MOST_RANKS = 4096
MOST_LINKS = 1_000_000
MOST_DIMENSIONS = 16
MEGABYTE = 1 << 20
ASTRA_GIGABYTE = 1.073741824  # ASTRA-sim's GB is 2^30 bytes, ours 1e9
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

# Two rings over the GPUs of a DGX-1: two NVLinks an edge in one, one in the other.
DGX1_RINGS = ((2, (0, 1, 3, 2, 6, 7, 5, 4)), (1, (0, 2, 1, 5, 6, 4, 7, 3)))

# Links of 50 GB/s between the sixteen dies that TE-CCL calls AMD: from, to, how many.
AMD_LINKS = ((0, 1, 4), (0, 4, 2), (0, 8, 1), (1, 5, 1), (1, 9, 1), (1, 10, 1), (2, 3, 4), (2, 6, 1),
             (2, 10, 1), (2, 9, 1), (3, 7, 2), (3, 11, 1), (4, 6, 1), (4, 5, 4), (5, 7, 1), (5, 6, 1),
             (6, 7, 4), (8, 9, 4), (8, 12, 2), (9, 13, 1), (10, 11, 4), (10, 14, 1), (11, 15, 2), (12, 13, 4),
             (12, 14, 1), (13, 15, 1), (13, 14, 1), (14, 15, 4))


class Wiring:
    """Nodes with kinds and names, of which GPUs are ranks in their order; lines in one direction with GB/s
    and microseconds; ports into a network that joins copies of a node; sentences about what was read and
    assumed."""

    def __init__(self) -> None:
        self.nodes: List[Tuple[str, str]] = []
        self.lines: List[Tuple[int, int, float, float]] = []
        self.ports: List[Tuple[int, int, int, float, float]] = []  # node of the cluster, out, in, GB/s, us
        self.copies = 0  # nodes of the cluster, equal ones
        self.read: List[str] = []
        self.assumed: List[str] = []
        self.machine: Dict[str, Any] = {}  # in place of nodes and lines: in chunks per round already

    def add(self, kind: str, name: str) -> int:
        self.nodes.append((kind, name))
        return len(self.nodes) - 1

    def join(self, a: int, b: int, gbs: float, us: float) -> None:
        self.lines += [(a, b, gbs, us), (b, a, gbs, us)]

    def text(self) -> str:
        return json.dumps({
            "chorale_wiring": 1,
            **{
                name: value
                for name, value in vars(self).items() if value or name != "machine"
            }
        })


def join_as_dgx1(wiring: Wiring, first: int, gbs: Mapping[int, float], us: float) -> None:
    """The GPUs from `first` on, with the GB/s of an edge by its number of NVLinks."""
    for links, ring in DGX1_RINGS:
        for i, gpu in enumerate(ring):
            wiring.join(first + gpu, first + ring[(i + 1) % 8], gbs[links], us)


# msccl-tools ------------------------------------------------------------------------------------------------


def msccl(text: str, file: str) -> Wiring:
    """A matrix of links, by destination and then source, in chunks per round, and "switches", which are
    limits over the links from some ranks to others: [sources, destinations, bandwidth, name]."""
    given = parsed(text, file)
    if not given.has("msccl_type") or given["msccl_type"].text() != "topology":
        raise given.fail("is not a topology of msccl-tools", 'give one with "msccl_type": "topology"')
    rows = given["links"].items(MOST_RANKS)
    if not rows:
        raise given["links"].fail("is empty", "list a row for each rank")
    links = []
    for dst, row in enumerate(rows):
        cells = row.items(MOST_RANKS)
        if len(cells) != len(rows):
            raise row.fail(f"has {len(cells)} columns", f"use {len(rows)}, one per rank")
        for src, cell in enumerate(cells):
            bandwidth = cell.whole(0, MOST_LINKS)
            if bandwidth and src == dst:
                raise cell.fail("is a link from a rank to itself", "use 0")
            if bandwidth:
                links.append({"src": src, "dst": dst, "bandwidth": bandwidth})
    wiring = Wiring()
    wiring.machine = {"topology": pathlib.PurePath(file).stem, "ranks": len(rows), "links": links}
    if given.has("switches"):
        wiring.machine["limits"] = [
            _msccl_limit(each, links, len(rows)) for each in given["switches"].items(100_000)
        ]
    wiring.read.append(f"{file}: topology of msccl-tools, in chunks per round")
    wiring.assumed.append(
        "latencies and rates are Chorale's defaults: 1 us per step, 25 GB/s for one chunk per round")
    return wiring


def _msccl_limit(given: Value, links: Sequence[Mapping[str, int]], ranks: int) -> Dict[str, Any]:
    parts = given.items(1 << 20)
    if len(parts) != 4:
        raise given.fail("does not have four parts", "use [sources, destinations, bandwidth, name]")
    sources, destinations = ({rank.whole(0, ranks - 1)
                              for rank in part.items(MOST_RANKS)} for part in parts[:2])
    under = [i for i, link in enumerate(links) if link["src"] in sources and link["dst"] in destinations]
    if not under:
        raise given.fail("has no link in it", "list links for it, or leave it out")
    return {"name": parts[3].text(), "links": under, "bandwidth": parts[2].whole(1, MOST_LINKS)}


# TACCL ------------------------------------------------------------------------------------------------------


class Taccl:
    """TACCL's profile of a node: microseconds for a chunk of a size that only the name gives. Its links
    are not in the file but in TACCL's code, by the number of rates: two are an NDv2 (a DGX-1's NVLinks,
    double and single), one is all GPUs on a switch; a file with matrices ("links") has them itself."""

    def __init__(self, text: str, file: str, nodes: int) -> None:
        self.given, self.file, self.nodes = parsed(text, file), pathlib.PurePath(file).name, nodes
        self.gpus = self.given["gpus_per_node"].whole(1, MOST_RANKS)
        if self.gpus * nodes > MOST_RANKS:
            raise self.given.fail(f"makes more than {MOST_RANKS} GPUs", "use fewer --nodes")
        self.us = self.given["alpha"].number(0, 1e9)
        self.wiring = Wiring()

    def read(self) -> Wiring:
        name = self.given["name"].text()
        size = re.search(r"(\d{1,25})([KM])B", name)
        self.bytes = float(size[1]) * (MEGABYTE if size[2] == "M" else 1024) if size else 0.0
        if not self.bytes:
            self.bytes = float(MEGABYTE)
            self.wiring.assumed.append("its times are taken for chunks of 1 MB; the name has no size")
        self.wiring.read.append(
            f"{self.file}: TACCL's profile {name}: {counted(self.gpus, 'GPU')} a node, times for chunks of "
            f"{format_bytes(self.bytes)}"
        )
        for node in range(self.nodes):
            for gpu in range(self.gpus):
                self.wiring.add("gpu", f"gpu {gpu} of node {node}")
        for node in range(self.nodes):
            self.join_node(node)
        if self.nodes > 1:
            self.join_nodes()
        self.wiring.copies = self.nodes
        return self.wiring

    def gbs(self, value: Value) -> float:
        """TACCL's beta is the time of a chunk in microseconds: bytes per microsecond are MB/s."""
        return self.bytes / value.number(1e-9, 1e9) * 1e-3

    def join_node(self, node: int) -> None:
        """A path through a switch has two ports, each with half of the latency."""
        first = node * self.gpus
        if self.given.has("links"):
            return self.join_by_matrix(first)
        rates = [self.gbs(each) for each in self.given["node_betas_list"].items(100)]
        if len(rates) == 2 and self.gpus == 8:
            join_as_dgx1(self.wiring, first, {1: min(rates), 2: max(rates)}, self.us)
            assumed = ("two rates of 8 GPUs are taken for the two rings of a DGX-1 (NDv2), which TACCL has in "
                       "its code")
        elif len(rates) == 1:
            hub = self.wiring.add("nvswitch", f"NVSwitch of node {node}")
            for gpu in range(self.gpus):
                self.wiring.join(first + gpu, hub, rates[0], self.us / 2)
            assumed = ("one rate is taken for a switch that joins all GPUs of the node, each with a port of "
                       "that rate")
        else:
            raise self.given["node_betas_list"].fail(f"has {len(rates)} rates",
                                                     "use one, or two for an NDv2 of 8 GPUs")
        if node == 0:
            self.wiring.assumed.append(assumed)

    def join_by_matrix(self, first: int) -> None:
        """[destination][source]: how many links, and the time of a chunk over one of them."""
        links, betas = (self.square(self.given[key]) for key in ("links", "betas"))
        for dst in range(self.gpus):
            for src in range(self.gpus):
                there = links[dst][src].whole(0, MOST_LINKS)
                if there and src == dst:
                    raise links[dst][src].fail("is a link from a GPU to itself", "use 0")
                if there:
                    self.wiring.lines.append(
                        (first + src, first + dst, there * self.gbs(betas[dst][src]), self.us))

    def square(self, matrix: Value) -> List[List[Value]]:
        rows = [row.items(MOST_RANKS) for row in matrix.items(MOST_RANKS)]
        if len(rows) != self.gpus or any(len(row) != self.gpus for row in rows):
            raise matrix.fail("is not a row and a column for each GPU", f"use {self.gpus} of each")
        return rows

    def join_nodes(self) -> None:
        """GPUs share NICs evenly, and NICs meet in one network. A NIC of its own is a port of the GPU; a
        shared one has a node for each direction, so that no path leads through it from GPU to GPU."""
        given, gpus = self.given["nics_per_node"], self.gpus
        nics = given.whole(1, MOST_RANKS)
        if gpus % nics and nics < gpus:
            raise given.fail(f"{counted(gpus, 'GPU')} do not share {counted(nics, 'NIC')} evenly",
                             "use a divisor")
        rate, us = self.gbs(self.given["remote_beta"]), self.given["remote_alpha"].number(0, 1e9) / 2
        each = max(1, gpus // nics)
        for node in range(self.nodes):
            for n in range(min(nics, gpus)):
                shared = [node * gpus + g for g in range(n * each, (n + 1) * each)]
                leaves = enters = shared[0]
                if each > 1:
                    leaves = self.wiring.add("nic", f"nic {n} of node {node} out")
                    enters = self.wiring.add("nic", f"nic {n} of node {node} in")
                    for gpu in shared:
                        self.wiring.lines += [(gpu, leaves, rate, 0), (enters, gpu, rate, 0)]
                self.wiring.ports.append((node, leaves, enters, rate, us))
        self.wiring.assumed.append(
            f"{self.file}: {self.nodes} nodes; GPUs share their {counted(nics, 'NIC')} evenly")


# TE-CCL -----------------------------------------------------------------------------------------------------


class Teccl:
    """TE-CCL's input names a machine that its code builds: rates are in the code, in GB/s, and latencies
    there or in the file, in seconds. The rest of the input is about the search."""

    def __init__(self, text: str, file: str) -> None:
        self.given, self.file = parsed(text, file)["TopologyParams"], pathlib.PurePath(file).name
        self.chassis = self.given["chassis"].whole(1, MOST_RANKS) if self.given.has("chassis") else 1
        self.wiring = Wiring()

    def read(self) -> Wiring:
        name = self.given["name"].text()
        if self.given.has("chunk_size"):
            self.given["chunk_size"].number(1e-15, 1e9)  # of the search, but not to be nonsense
        machines: Dict[str, Callable[[], None]] = {
            "DGX1": self.dgx1,
            "NDv2": self.ndv2,
            "DGX2": self.dgx2,
            "AMD": self.amd,
            "Mesh": self.mesh
        }
        if name not in machines:
            raise self.given["name"].fail(f"'{name[:60]}' is none of TE-CCL's machines",
                                          "use DGX1, NDv2, DGX2, AMD or Mesh")
        machines[name]()
        self.wiring.read.append(f"{self.file}: {name} of TE-CCL, {self.chassis} chassis")
        self.wiring.assumed.append("the file has a name only; links and rates are those of TE-CCL's code")
        return self.wiring

    def us(self, which: int, otherwise: float) -> float:
        given = self.given["alpha"].items(10) if self.given.has("alpha") else []
        return given[which].number(0, 1e3) * 1e6 if which < len(given) else otherwise

    def add_gpus(self, each: int, most_chassis: int) -> None:
        if self.chassis > most_chassis:
            raise self.given["chassis"].fail(f"is more than {most_chassis}", f"use at most {most_chassis}")
        for chassis in range(self.chassis):
            for gpu in range(each):
                self.wiring.add("gpu", f"gpu {gpu} of chassis {chassis}")

    def dgx1(self) -> None:
        self.add_gpus(8, 1)
        join_as_dgx1(self.wiring, 0, {1: 25, 2: 50}, self.us(0, 0.7))

    def ndv2(self) -> None:
        """One NIC a chassis: two of them are linked GPU 1 to GPU 0 of the other, more over a switch into
        GPU 0 and out of GPU 1."""
        self.add_gpus(8, MOST_RANKS // 8)
        for chassis in range(self.chassis):
            join_as_dgx1(self.wiring, 8 * chassis, {1: 25, 2: 50}, 0.7)
        if self.chassis == 2:
            self.wiring.lines += [(1, 8, 12.5, 1.3), (9, 0, 12.5, 1.3)]
        elif self.chassis > 2:
            network = self.wiring.add("network", "network")
            for chassis in range(self.chassis):
                self.wiring.lines += [(8 * chassis + 1, network, 12.5, 1.3),
                                      (network, 8 * chassis, 12.5, 1.3)]

    def dgx2(self) -> None:
        """Odd GPUs send to the even ones of the other chassis."""
        self.add_gpus(16, 2)
        for chassis in range(self.chassis):
            hub = self.wiring.add("nvswitch", f"NVSwitch of chassis {chassis}")
            for gpu in range(16):
                self.wiring.join(16 * chassis + gpu, hub, 125, 0.35)
        for gpu in range(0, 16 if self.chassis == 2 else 0, 2):
            self.wiring.lines += [(gpu + 1, 16 + gpu, 12.5, 2.6), (16 + gpu + 1, gpu, 12.5, 2.6)]

    def amd(self) -> None:
        """Sixteen dies; each pair shares a NIC if there are several chassis."""
        self.add_gpus(16, MOST_RANKS // 16)
        for chassis in range(self.chassis):
            for a, b, width in AMD_LINKS:
                self.wiring.join(16 * chassis + a, 16 * chassis + b, 50 * width, self.us(0, 0.7))
        if self.chassis == 1:
            return
        network = self.wiring.add("network", "network")
        for chassis in range(self.chassis):
            for n in range(8):
                nic = self.wiring.add("nic", f"nic {n} of chassis {chassis}")
                self.wiring.join(nic, network, 25, self.us(1, 2))
                for gpu in (2 * n, 2 * n + 1):
                    self.wiring.join(16 * chassis + gpu, nic, 25, self.us(1, 2))

    def mesh(self) -> None:
        """As TE-CCL builds it: ranks that follow each other are linked, also from the end of a row to the
        next."""
        side = self.given["side_length"].whole(2, 64)
        self.add_gpus(side * side, 1)
        for n in range(side * side):
            for other in (n + 1, n + side):
                if other < side * side:
                    self.wiring.join(n, other, 100, self.us(0, 0.7))
        self.wiring.read.append("TE-CCL links the end of each row of a mesh with the beginning of the next")


# ASTRA-sim --------------------------------------------------------------------------------------------------


def yaml_lists(text: str, file: str) -> Value:
    """ "key: [ a, b ]  # words", or the key and then "- a" lines. Nothing is nested, and indentation means
    nothing: that is all of YAML that ASTRA-sim's networks have."""
    lists: Dict[str, List[Any]] = {}
    key: Optional[str] = None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].strip(" \t\r'\"")
        name, colon, after = words.partition(":")
        if words.startswith("-") and key is not None:
            lists[key].append(_yaml_value(words[1:]))
        elif colon and not words.startswith("-"):
            key = name.strip(" \t\r'\"")
            if key in lists:
                raise InputError(f"{file}:{number}: has {key[:40]} twice; give it once")
            values = after.strip(" \t\r'\"")
            if values.startswith("[") and values.endswith("]"):
                values = values[1:-1]
            elif values.startswith("["):
                raise InputError(
                    f"{file}:{number}: is not 'key: [values]'; use the four lists that ASTRA-sim has")
            lists[key] = [_yaml_value(each) for each in values.split(",") if each.strip()]
        elif words:
            raise InputError(
                f"{file}:{number}: is not 'key: [values]'; use the four lists that ASTRA-sim has")
    return Value(lists, file)


def _yaml_value(text: str) -> Any:
    text = text.strip(" \t\r'\"")
    if not NUMBER.fullmatch(text):
        return text
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else float(text)


def astra(text: str, file: str) -> Wiring:
    """Dimensions, the innermost first: ring, all pairs or a switch, with how many there are, GB/s of a
    link and nanoseconds; as JSON or YAML, four keys with a list each. Ranks and links are counted before
    any is made, since a short file can describe a machine of any size."""
    given = parsed(text, file) if text.lstrip(" \t\r\n\ufeff").startswith("{") else yaml_lists(text, file)
    columns = {
        key: given[key].items(MOST_DIMENSIONS)
        for key in ("topology", "npus_count", "bandwidth", "latency")
    }
    count = len(columns["topology"])
    for key, values in columns.items():
        if len(values) != count:
            raise given[key].fail(f"has {len(values)} values for {counted(count, 'dimension')}",
                                  "give one each")
    if not count:
        raise given.fail("has no dimension", "list at least one")
    shapes = [each.text() for each in columns["topology"]]
    sizes = [each.whole(1, MOST_RANKS) for each in columns["npus_count"]]
    rates = [each.number(1e-6, 1e6) * ASTRA_GIGABYTE for each in columns["bandwidth"]]
    latencies = [each.number(0, 1e12) / 1000 for each in columns["latency"]]
    for shape in shapes:
        if shape not in ("Ring", "FullyConnected", "Switch"):
            raise given["topology"].fail(f"'{shape[:40]}' is not known", "use Ring, FullyConnected or Switch")
    ranks = math.prod(sizes)
    if ranks > MOST_RANKS:
        raise given["npus_count"].fail(f"makes more than {MOST_RANKS} ranks", "use fewer")
    if sum(ranks * (size if shape == "FullyConnected" else 2)
           for shape, size in zip(shapes, sizes)) > MOST_LINKS:
        raise given.fail("makes over a million links", "use fewer ranks")
    wiring = Wiring()
    for rank in range(ranks):
        wiring.add("gpu", f"npu {rank}")
    stride = 1
    for d, (shape, size, gbs, us) in enumerate(zip(shapes, sizes, rates, latencies)):
        # A unit begins at each rank whose coordinate in the dimension is 0.
        for first in range(ranks if size > 1 else 0):
            if first // stride % size == 0:
                _join_unit(wiring, shape, [first + i * stride for i in range(size)], gbs, us,
                           f"dimension {d}, from npu {first}")
        stride *= size
    words = ", ".join(f"{shape} of {size}" for shape, size in zip(shapes, sizes))
    wiring.read.append(f"{file}: ASTRA-sim's analytical network: {words}, the innermost first")
    wiring.assumed.append(
        "each dimension's rate is that of one link, per direction, in GB of 2^30 bytes; a rank has links in "
        "every dimension"
    )
    return wiring


def _join_unit(wiring: Wiring, shape: str, unit: Sequence[int], gbs: float, us: float, where: str) -> None:
    size = len(unit)
    if shape == "Switch":
        hub = wiring.add("network", f"switch of {where}")
        for rank in unit:
            wiring.join(rank, hub, gbs, us)
    else:  # two ranks in a ring have one link in each direction
        pairs = [(i, k) for i in range(size) for k in range(i + 1, size)] if shape == "FullyConnected" else [
            (i, (i + 1) % size) for i in range(1 if size == 2 else size)
        ]
        for i, k in pairs:
            wiring.join(unit[i], unit[k], gbs, us)


RATES = {"Gbps": 1 / 8, "Mbps": 1 / 8000, "Tbps": 125.0, "bps": 1 / 8e9}  # in GB/s
TIMES = {"ms": 1000.0, "us": 1.0, "ns": 1e-3, "s": 1e6}


class Ns3:
    """ "5 1 4", "4", then "0 4 400Gbps 0.0005ms 0": numbers of nodes, switches and links; the switches; a
    link a line, in both directions, with its error rate, which is ignored. SimAI's begins with the numbers of
    nodes, GPUs of a server, NVSwitches, other switches and links, and the type of the GPUs; the NVSwitches
    come first in the list."""

    def __init__(self, text: str, file: str) -> None:
        lines = text.splitlines()
        self.rows = [(i, words) for i, words in ((i, line.split()) for i, line in enumerate(lines, 1))
                     if words]
        self.file, self.end = file, len(lines) + 1

    def where(self, r: int) -> str:
        return f"{self.file}:{self.rows[r][0] if r < len(self.rows) else self.end}"

    def words(self, r: int) -> List[str]:
        return self.rows[r][1] if r < len(self.rows) else []

    def number(self, r: int, w: int, least: int, most: int) -> int:
        text = self.words(r)[w] if w < len(self.words(r)) else ""
        if not re.fullmatch(r"\d{1,18}", text) or not least <= int(text) <= most:
            raise InputError(f"{self.where(r)}: '{text[:40]}' is out of range; use {least} to {most}")
        return int(text)

    def with_unit(self, r: int, text: str, units: Mapping[str, float]) -> float:
        found = re.fullmatch(rf"({NUMBER.pattern})({'|'.join(units)})", text)
        number = float(found[1]) if found else -1
        if not found or not 0 <= number < math.inf:
            raise InputError(
                f"{self.where(r)}: '{text[:40]}' is out of range; use a number, 0 or more, and one of "
                f"{', '.join(units)}"
            )
        return number * units[found[4]]

    def read(self) -> Wiring:
        simai = len(self.words(0)) >= 6
        if not simai and len(self.words(0)) != 3:
            raise InputError(
                f"{self.where(0)}: does not have three numbers; begin with the numbers of nodes, switches and "
                "links, or as SimAI: nodes, GPUs of a server, NVSwitches, switches, links and a type"
            )
        nodes = self.number(0, 0, 1, 2 * MOST_RANKS)
        hubs = self.number(0, 2, 0, nodes - 1) if simai else 0
        switches = hubs + self.number(0, 3 if simai else 1, 0, nodes - 1 - hubs)
        links = self.number(0, 4 if simai else 2, 0, MOST_LINKS)
        # One line of switches; SimAI's may be in several.
        listed: List[int] = []
        first = 1
        while len(listed) < switches and (simai or first == 1):
            listed += [self.number(first, i, 0, nodes - 1) for i in range(max(len(self.words(first)), 1))]
            first += 1
        if len(set(listed)) != switches or len(listed) != switches:
            raise InputError(f"{self.where(1)}: does not list the switches; give {switches} numbers")
        if nodes - switches > MOST_RANKS:
            raise InputError(f"{self.where(0)}: makes more than {MOST_RANKS} ranks; use fewer")
        wiring = Wiring()
        kinds = {n: ("nvswitch" if i < hubs else "network", f"switch {n}") for i, n in enumerate(listed)}
        for n in range(nodes):
            wiring.add(*kinds.get(n, ("gpu", f"node {n}")))
        for i in range(links):
            self.join(wiring, first + i, nodes, f"has {i} of {links} links")
        wiring.read.append(
            f"{self.file}: {'SimAI' if simai else 'ASTRA-sim'}'s topology for ns-3: "
            f"{counted(nodes - switches, 'node')}, {switches} switch{'' if switches == 1 else 'es'}"
        )
        return wiring

    def join(self, wiring: Wiring, r: int, nodes: int, so_far: str) -> None:
        words = self.words(r)
        if not words:
            raise InputError(f"{self.where(r)}: {so_far}; give the whole file")
        if len(words) < 4:
            raise InputError(
                f"{self.where(r)}: has no rate and latency; use 'source destination 400Gbps 0.0005ms 0'")
        a, b = self.number(r, 0, 0, nodes - 1), self.number(r, 1, 0, nodes - 1)
        if a == b:
            raise InputError(f"{self.where(r)}: goes from a node to itself; remove it")
        gbs = self.with_unit(r, words[2], RATES)
        if gbs <= 0:
            raise InputError(f"{self.where(r)}: has no rate; use one above 0, or leave the link out")
        wiring.join(a, b, gbs, self.with_unit(r, words[3], TIMES))


# Which of them ----------------------------------------------------------------------------------------------


def converted(text: str, file: str, nodes: int = 1) -> Optional[str]:
    """What the reader of machines takes instead of a file of these; None: it is of another kind. `nodes`:
    how many nodes of a profile of TACCL are joined."""
    reader = _reader(text, file, nodes)
    if reader is None:
        return None
    if nodes > 1 and not isinstance(reader, Taccl):
        raise InputError(f"--nodes: {file} describes a whole machine itself; leave it out")
    return (reader.read() if isinstance(reader, (Taccl, Teccl, Ns3)) else reader(text, file)).text()


def _reader(text: str, file: str, nodes: int) -> Any:
    """Of each format a key, or a beginning, that no other has."""
    begin = text.lstrip(" \t\r\n\ufeff")
    if begin.startswith("{"):
        given = parsed(text, file)
        if given.has("msccl_type") or given.has("npus_count"):
            return msccl if given.has("msccl_type") else astra
        if given.has("TopologyParams"):
            return Teccl(text, file)
        return Taccl(text, file, nodes) if given.has("gpus_per_node") else None
    if "npus_count" in text and not begin.startswith("<"):
        return astra
    others = any(words in text for words in ("between two GPUs", "SwitchName=", "GPU0"))
    return Ns3(text, file) if begin[:1].isdigit() and not others else None


def perform(question: Mapping[str, Any]) -> Outcome:
    """`chorale topology import` of such a file: the outcome is its wiring alone, which the program reads."""
    file = question["file"]
    outcome = Outcome()
    outcome.files.append(
        ("-", converted(read(file).decode("utf-8", "surrogateescape"), file, question["nodes"]) or ""))
    return outcome
