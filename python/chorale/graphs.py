"""Machines as graphs of networkx, and back."""

from __future__ import annotations

from typing import Any

from chorale._chorale import Link, SharedLimit, Topology
from chorale.errors import InputError, needed

NUMBERS = ("bandwidth", "alpha_us", "beta_us_per_byte")
ABILITIES = ("multicast", "reduce")


def from_networkx(graph: Any, name: str = "") -> Topology:
    """A machine of a graph. Nodes are ranks in the order of the graph; those with switch=True are switches,
    and come after them; with multicast=True and reduce=True they can do that. Edges are links, of an
    undirected graph in both directions, with `bandwidth` (chunks per round), `alpha_us` and
    `beta_us_per_byte` where given. graph.graph["limits"] may list shared limits: {"name", "bandwidth",
    "links": [(u, v), ...], "multicast", "reduce"}, of a multigraph (u, v, key). The numbers of the nodes:
    list(graph), ranks first."""
    needed("networkx", "from_networkx()")
    nodes = [node for node, data in graph.nodes(data=True) if not data.get("switch")]
    ranks = len(nodes)
    nodes += [node for node, data in graph.nodes(data=True) if data.get("switch")]
    number = {node: i for i, node in enumerate(nodes)}
    links, ids = [], {}
    for edge in graph.edges(keys=True, data=True) if graph.is_multigraph() else graph.edges(data=True):
        *way, data = edge
        numbers = {key: data[key] for key in NUMBERS if key in data}
        for ends in [(way[0], way[1])] if graph.is_directed() else [(way[0], way[1]), (way[1], way[0])]:
            ids[(*ends, *way[2:])] = len(links)
            try:
                links.append(Link(number[ends[0]], number[ends[1]], **numbers))
            except TypeError as error:
                raise InputError(
                    f"edge {ends}: {numbers} are not numbers of a link; bandwidth is an integer") from error
    limits = []
    for row in graph.graph.get("limits", ()):
        missing = [way for way in row["links"] if tuple(way) not in ids]
        if missing:
            raise InputError(f"limit {row['name']!r}: there is no link {missing[0]}; name edges of the graph")
        can = {ability: bool(row.get(ability)) for ability in ABILITIES}
        limits.append(
            SharedLimit(row["name"], sorted(ids[tuple(way)] for way in row["links"]), row["bandwidth"],
                        **can))
    can = {
        ability: [i for i, node in enumerate(nodes[ranks:]) if graph.nodes[node].get(ability)]
        for ability in ABILITIES
    }
    return Topology(name or graph.name or "graph", ranks, links, limits, len(nodes) - ranks, **can)


def to_networkx(topology: Topology) -> Any:
    """A DiGraph with what from_networkx() reads; a MultiDiGraph where links are parallel. If the links are
    routes through switches, it is of the machine with its switches."""
    networkx = needed("networkx", "to_networkx()")
    topology = topology.with_switches()
    ends = [(link.src, link.dst) for link in topology.links]
    several = len(set(ends)) < len(ends)
    graph = networkx.MultiDiGraph(name=topology.name) if several else networkx.DiGraph(name=topology.name)
    for node in range(topology.ranks + topology.switches):
        can = {ability: True for ability in ABILITIES if node - topology.ranks in getattr(topology, ability)}
        graph.add_node(node, switch=node >= topology.ranks, **can)
    ways = []
    for link in topology.links:
        numbers = {key: getattr(link, key) for key in NUMBERS}
        key = graph.add_edge(link.src, link.dst, **numbers)
        ways.append((link.src, link.dst, key) if several else (link.src, link.dst))
    graph.graph["limits"] = [{
        "name": limit.name,
        "bandwidth": limit.bandwidth,
        "links": [ways[i] for i in limit.links],
        **{
            ability: True
            for ability in ABILITIES if getattr(limit, ability)
        }
    } for limit in topology.limits]
    return graph
