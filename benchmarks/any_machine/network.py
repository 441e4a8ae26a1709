"""A machine as a flow network: what its links, switches and shared limits let pass in a round, by maximum
flows.

A node for each rank and switch, and two for each limit, with an arc of the limit's bandwidth between them.
A link is a chain of arcs through the limits over it, each as wide as the link: first limits over links out
of one node, then others, then limits over links into one node. A schedule sends every chunk along such
chains, so what no flow can do, no schedule can. A limit that is over links between several nodes is weaker
so than it is (a flow may enter as one link and leave as another): bounds hold all the same.
"""

import collections


class Network:
    def __init__(self, machine):
        links = []
        for link in machine["links"]:
            one = (link["src"], link["dst"], link.get("bandwidth", 1))
            links.append(one)
            if link.get("both_ways"):
                links.append((one[1], one[0], one[2]))
        self.ranks = machine["ranks"]
        self.switches = machine.get("switches", 0)
        self.links = links
        self.nodes = self.ranks + self.switches
        self.arcs = collections.Counter()  # bandwidth by (from, to)
        over = collections.defaultdict(list)  # (order, first node, last node) by link
        for limit in machine.get("limits", []):
            some = [
                (
                    at
                    if isinstance(at, int)
                    else next(i for i, link in enumerate(links) if link[:2] == tuple(at))
                )
                for at in limit["links"]
            ]
            order = (
                0
                if len({links[i][0] for i in some}) == 1
                else 2 if len({links[i][1] for i in some}) == 1 else 1
            )
            self.arcs[self.nodes, self.nodes + 1] = limit["bandwidth"]
            for i in some:
                over[i].append((order, self.nodes, self.nodes + 1))
            self.nodes += 2
        for i, (src, dst, bandwidth) in enumerate(links):
            at = src
            for _, first, last in sorted(over[i]):
                self.arcs[at, first] += bandwidth
                at = last
            self.arcs[at, dst] += bandwidth

    def reversed(self):
        backwards = Network({"ranks": self.ranks, "switches": self.switches, "links": []})
        backwards.nodes = self.nodes
        backwards.links = [(dst, src, bandwidth) for src, dst, bandwidth in self.links]
        backwards.arcs = collections.Counter({(b, a): width for (a, b), width in self.arcs.items()})
        return backwards

    def hops(self, source):
        """Fewest steps to each rank: from rank to rank through any number of switches is one."""
        onward = collections.defaultdict(list)
        for src, dst, _ in self.links:
            onward[src].append(dst)
        at, front = {source: 0}, [source]
        while front:
            reached, passed = [], set()
            stack = list(front)
            while stack:
                for n in onward[stack.pop()]:
                    if n >= self.ranks and n not in passed:
                        passed.add(n)
                        stack.append(n)
                    elif n < self.ranks and n not in at:
                        at[n] = at[front[0]] + 1
                        reached.append(n)
            front = reached
        return [at.get(n) for n in range(self.ranks)]


class Flow:
    """Maximum flows by Dinic's algorithm. Arcs are (from, to, capacity), in integers; arc i is at 2i, its
    reverse at 2i + 1."""

    def __init__(self, nodes, arcs):
        self.to, self.left, self.out = [], [], [[] for _ in range(nodes)]
        for a, b, capacity in arcs:
            self.out[a].append(len(self.to))
            self.to.append(b)
            self.left.append(capacity)
            self.out[b].append(len(self.to))
            self.to.append(a)
            self.left.append(0)

    def levels(self, source, sink):
        level = [-1] * len(self.out)
        level[source] = 0
        queue = [source]
        for a in queue:
            for i in self.out[a]:
                b = self.to[i]
                if level[b] < 0 and self.left[i] > 0:
                    level[b] = level[a] + 1
                    queue.append(b)
        return level

    def most(self, source, sink):
        """The value of a maximum flow. Nodes whose level is not -1 in `side` then are a minimum cut."""
        total, to, left, out = 0, self.to, self.left, self.out
        while True:
            level = self.side = self.levels(source, sink)
            if level[sink] < 0:
                return total
            at = [0] * len(out)
            path, a = [], source
            while True:
                if a == sink:
                    least = min(left[i] for i in path)
                    total += least
                    for i in path:
                        left[i] -= least
                        left[i ^ 1] += least
                    cut = next(k for k, i in enumerate(path) if left[i] == 0)
                    a = to[path[cut] ^ 1]
                    del path[cut:]
                while at[a] < len(out[a]):
                    i = out[a][at[a]]
                    if left[i] > 0 and level[to[i]] == level[a] + 1:
                        break
                    at[a] += 1
                if at[a] < len(out[a]):
                    path.append(i)
                    a = to[i]
                elif path:
                    i = path.pop()
                    a = to[i ^ 1]
                    at[a] += 1
                else:
                    break


def crossing(network, inside, outside=None):
    """The least bandwidth that parts the ranks `inside` from those `outside` (all others): at most as many
    chunks leave in a round."""
    outside = set(range(network.ranks)) - set(inside) if outside is None else outside
    ample = sum(network.arcs.values()) + 1
    source, sink = network.nodes, network.nodes + 1
    arcs = [(a, b, width) for (a, b), width in network.arcs.items()]
    arcs += [(source, n, ample) for n in inside] + [(n, sink, ample) for n in outside]
    return Flow(network.nodes + 2, arcs).most(source, sink)
