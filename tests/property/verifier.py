"""An independent verifier of result files: lists every false statement in one.

Written from docs/semantics.md, docs/bounds.md and docs/formats.md alone, so that it does not repeat a mistake
of the program. It is slow, and states "undecided" where it cannot tell: of a refutation without an exhaustive
search (`truth`), of a growth that is too large.

    verdict = verify(result, truth)      result: what json.loads gives; truth: None, or as
    exhaustive.Exhaustive verdict.faults, verdict.undecided   lists of words
"""
import fractions
import itertools
import json
import math
import operator
import sys
import typing

NAMED = ("broadcast", "scatter", "gather", "allgather", "alltoall", "reduce", "reducescatter", "allreduce")
ROOTED = ("broadcast", "scatter", "gather", "reduce")
BY_GATHER = "allreduce_by_gather"
IN_PHASES = "allreduce_in_phases"
KINDS = ("frontier", "synthesis", "algorithm")
STOPS = ("", "time limit", "interrupted", "conflict limit", "memory limit", "size limit", "not expressible", "chunk counts", "effort",
         "refutations not checked")
BY_HAND = {  # what hand-written algorithms do
    "allgather": ("ring_allgather", "multi_ring_allgather", "recursive_doubling_allgather", "direct_allgather", "pat_allgather",
                  "bruck_allgather", "hierarchical_allgather"),
    "reducescatter": ("ring_reducescatter", "multi_ring_reducescatter", "recursive_halving_reducescatter", "direct_reducescatter", "pat_reducescatter",
                      "hierarchical_reducescatter"),
    "allreduce": ("ring_allreduce", "multi_ring_allreduce", "tree_allreduce", "two_tree_allreduce", "recursive_doubling_allreduce",
                  "halving_doubling_allreduce", "direct_allreduce", "one_shot_allreduce", "nvls_allreduce", "nvls_tree_allreduce",
                  "collnet_direct_allreduce", "collnet_chain_allreduce", "hierarchical_allreduce"),
    "broadcast": ("tree_broadcast", "binomial_broadcast", "multi_ring_broadcast", "direct_broadcast", "disjoint_trees_broadcast"),
    "reduce": ("tree_reduce", "binomial_reduce", "multi_ring_reduce", "direct_reduce", "disjoint_trees_reduce"), "gather": ("binomial_gather",),
    "scatter": ("binomial_scatter",), "alltoall": ("direct_alltoall", "pairwise_alltoall", "bruck_alltoall")}
FOUND_BY = ("direct", "dual", "levels", "patched", "reduce_scatter+allgather", "gather+local_reduce")
NEVER = float("inf")  # rounds: there is no schedule


class Fault(Exception):
    """A false statement that makes the rest of its part meaningless."""


class Verdict:
    def __init__(self):
        self.faults, self.undecided = [], []


class Limit(typing.NamedTuple):
    links: list
    bandwidth: int
    multicast: bool = False
    reduce: bool = False

    def counts(self, sends):
        """How many it carries of a step's (chunk, src, dst, link, adds?), by docs/topologies.md."""
        some = [send for send in sends if send[3] in self.links]
        if not self.multicast and not self.reduce:
            return len(some)
        if self.multicast and self.reduce:
            return len({(c, adds, dst if adds else src) for c, src, dst, _, adds in some})
        return len({(c, src if self.multicast else dst) for c, src, dst, _, _ in some})


class Machine:
    """Ranks, links (src, dst, bandwidth) and limits. Switches only in a machine that is below another."""

    def __init__(self, ranks, links, limits, switches=0):
        self.ranks, self.links, self.limits, self.switches = ranks, links, [Limit(*each) for each in limits], switches
        self.below = None

    @staticmethod
    def read(text):
        machine = Machine.graph(text)
        if machine.switches:
            raise Fault("the topology has switches")
        if "underlay" in text:
            machine.below = Machine.graph(text["underlay"])
            machine.require_ways(text["ways"])
            machine.require_times(text)
            able = [text["underlay"].get(key) for key in ("multicast", "reduce")] + [each.multicast or each.reduce for each in machine.limits + machine.below.limits]
            if any(able):
                raise Fault("what counts once is not known of chosen routes")
        return machine

    @staticmethod
    def graph(text):
        nodes = text["ranks"] + text.get("switches", 0)
        for key in ("multicast", "reduce"):
            if text.get(key, []) and max(map(whole, text[key])) >= text.get("switches", 0):
                raise Fault(f"there are no such switches to {key}")
        links = []
        for link in text["links"]:
            one = (whole(link["src"]), whole(link["dst"]), whole(link.get("bandwidth", 1), 1))
            links.append(one)
            if max(one[:2]) >= nodes or one[0] == one[1]:
                raise Fault(f"{link} ends at no other node")
            if link.get("both_ways"):
                links.append((one[1], one[0], one[2]))
        limits = []
        for limit in text.get("limits", []):
            over = [at if isinstance(at, int) else next(i for i, link in enumerate(links) if link[:2] == tuple(at))
                    for at in limit["links"]]
            if len(set(over)) < len(over) or not over or not all(0 <= at < len(links) for at in over):
                raise Fault("a limit is over a link twice, or one that is not there")
            limits.append(Limit(over, whole(limit["bandwidth"], 1), limit.get("multicast", False), limit.get("reduce", False)))
        return Machine(whole(text["ranks"], 1), links, limits, whole(text.get("switches", 0)))

    def require_ways(self, ways):
        """Each link is a way through switches, and what links may carry together the machine below can."""
        wires = self.below.links
        if self.below.ranks != self.ranks or len(ways) != len(self.links):
            raise Fault("ways do not fit the links")
        over = [set() for _ in wires]  # links by wire
        for l, (src, dst, bandwidth) in enumerate(self.links):
            at = [wires[w][0] for w in ways[l]] + [wires[w][1] for w in ways[l]][-1:]
            joined = all(wires[w][1] == end for w, end in zip(ways[l], at[1:]))
            if not joined or at[:1] != [src] or at[-1:] != [dst] or any(n < self.ranks for n in at[1:-1]):
                raise Fault(f"link {l} is not its way")
            if len(set(ways[l])) < len(ways[l]) or any(wires[w][2] < bandwidth for w in ways[l]):
                raise Fault(f"link {l} is wider than its route")
            for w in ways[l]:
                over[w].add(l)
        bounded = [(over[w], wires[w][2]) for w in range(len(wires))]
        for some, bandwidth, *_ in self.below.limits:
            if any(over[a] & over[b] for a in some for b in some if a < b):
                raise Fault("a route passes a limit twice")
            bounded.append((set().union(*(over[w] for w in some)), bandwidth))
        for links, bandwidth in bounded:
            alone = len(links) == 1 and self.links[min(links)][2] <= bandwidth
            if links and not alone and not any(links <= set(some) and most <= bandwidth for some, most, *_ in self.limits):
                raise Fault("links may carry more than the machine below")

    def require_times(self, text):
        """A way's alphas add up, and its slowest link is its beta."""
        def times(graph):
            return [tuple(link.get(key, graph.get(key, default)) for key, default in (("alpha_us", 1), ("beta_us_per_byte", 4e-5)))
                    for link in graph["links"] for _ in range(2 if link.get("both_ways") else 1)]
        wires = times(text["underlay"])
        for l, (alpha, beta) in enumerate(times(text)):
            over = [wires[w] for w in text["ways"][l]]
            if not math.isclose(alpha, sum(a for a, _ in over), rel_tol=1e-9) or not math.isclose(beta, max(b for _, b in over), rel_tol=1e-9):
                raise Fault(f"link {l} does not take the time of its route")

    def reversed(self):
        limits = [Limit(each.links, each.bandwidth, each.reduce, each.multicast) for each in self.limits]
        return Machine(self.ranks, [(dst, src, bandwidth) for src, dst, bandwidth in self.links], limits)

    def hops(self, sources):
        """By node; to a switch and on from it is one hop."""
        at = {n: 0 for n in sources}
        front = list(sources)
        while front:
            reached = list(front)
            for n in reached:  # grows
                for src, dst, _ in self.links:
                    if src == n and dst not in at:
                        at[dst] = at[n] + (1 if n < self.ranks else 0)
                        if dst >= self.ranks:
                            reached.append(dst)
            level = max(at[n] for n in front)
            front = [n for n in at if n < self.ranks and at[n] == level + 1]
        return at

    def carried(self, links, of_a_rank):
        """No more chunks than this move over these links in a round: each link counts, or a limit instead of
        its links. Of what leaves a rank, one that multicasts counts several as one."""
        links = set(links)
        helpful = [(links & set(each.links), each.bandwidth) for each in self.limits if not (of_a_rank and each.multicast)]
        helpful = [(over, bandwidth) for over, bandwidth in helpful if bandwidth < sum(self.links[l][2] for l in over)]
        best = None
        sizes = range(len(helpful) + 1) if len(helpful) <= 10 else (0, 1, len(helpful))
        for chosen in itertools.chain.from_iterable(itertools.combinations(helpful, size) for size in sizes):
            rest = links.difference(*(over for over, _ in chosen))
            carried = sum(bandwidth for _, bandwidth in chosen) + sum(self.links[l][2] for l in rest)
            best = carried if best is None else min(best, carried)
        return best


class Chunks:
    """What is moved: by chunk the ranks before and after; and where it lies, if that was reported."""

    def __init__(self, combining, before_after, places=None, order="agreed"):
        self.combining, self.list, self.places, self.order = combining, before_after, places, order
        self.sums = {}  # chunks that start, at their one rank, as the sum of others: these, by chunk

    def dual(self):
        return Chunks(not self.combining, [(post, pre) for pre, post in self.list], order="free" if self.fixed() is None else self.order)

    def fixed(self):
        """The sums that a fixed order lets anybody make, as sets of ranks; None: the order is not fixed."""
        if self.order == "once":
            every = frozenset().union(*(pre for pre, _ in self.list))
            return [every, *(frozenset([n]) for n in every)]
        return None if self.order in ("agreed", "free") else nodes_of(self.order)

    def order_words(self):
        """As exhaustive.cpp reads it."""
        if self.order in ("agreed", "free"):
            return [int(self.order == "agreed")]
        sums = {sum(1 << n for n in node & pre) for node in self.fixed() for pre, _ in self.list if len(node & pre) > 1}
        return [len(sums) + 1, *sorted(sums)]

    def turns_round(self):
        """Is each schedule, backwards, one of the dual? So what the dual cannot do, this cannot."""
        return all(len(post) == 1 for _, post in self.list)

    def one_destination(self):
        """And is each of the dual, backwards, one of this?"""
        return self.turns_round() and self.fixed() is None


def nodes_of(tree):
    """All sums that adding along a tree in brackets makes; more than two in a pair of brackets are added from
    the left."""
    words = tree.replace("(", " ( ").replace(")", " ) ").split()
    nodes = []

    def read(at):
        if words[at] != "(":
            nodes.append(frozenset([whole(int(words[at]))]))
            return nodes[-1], at + 1
        at, total = at + 1, None
        while words[at] != ")":
            part, at = read(at)
            total = part if total is None else total | part
            nodes.append(total)
        return total, at + 1

    try:
        everything, end = read(0)
    except (ValueError, IndexError, TypeError):
        raise Fault(f"{tree!r} is not a tree") from None
    if end != len(words) or len({node for node in nodes if len(node) == 1}) != len(everything):
        raise Fault(f"{tree!r} is not a tree")
    return set(nodes)


def stated_sums(step):
    """(chunk, rank) -> all sums that adding as stated makes, as sets of the ranks that values come from."""
    stated = {}
    for entry in step.get("sums", []):
        if not isinstance(entry, list) or len(entry) != 3 or not isinstance(entry[2], str):
            raise Fault(f"{entry!r} is not a sum")
        stated[whole(entry[0]), whole(entry[1])] = nodes_of(entry[2])
    return stated


def whole(value, least=0):
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Fault(f"{value!r} is not a number of {least} or more")
    return value


def require_root(asked, ranks):
    """Of what has a root, one of the ranks; of all else 0 or none."""
    if whole(asked.get("root", 0)) >= (ranks if asked["collective"] in ROOTED else 1):
        raise Fault(f"{asked['collective']} has no root {asked['root']}")


def first_phases(asked):
    """What a composed AllReduce may do before its Allgather."""
    order = asked.get("order", "agreed")
    return ("alltoall",) if order == "once" else ("reducescatter",) if order in ("agreed", "free") else ("reducescatter", "alltoall")


def phased_chunks(ranks, pieces):
    """Piece k of all vectors goes to one rank, and from there their sum to all."""
    one = [frozenset([n]) for n in range(ranks)]
    owners = [one[k * ranks // pieces] for k in range(pieces)]
    chunks = Chunks(False, [(s, owner) for s in one for owner in owners] + [(owner, frozenset(range(ranks))) for owner in owners])
    chunks.sums = {ranks * pieces + k: [s * pieces + k for s in range(ranks)] for k in range(pieces)}
    return chunks


def named_chunks(name, ranks, pieces, root):
    every = frozenset(range(ranks))
    one = [frozenset([n]) for n in range(ranks)]
    lists = {"broadcast": [(one[root], every)], "reduce": [(every, one[root])], "allreduce": [(every, every)],
             "scatter": [(one[root], d) for d in one], "gather": [(s, one[root]) for s in one],
             "allgather": [(s, every) for s in one], BY_GATHER: [(s, every) for s in one],
             "reducescatter": [(every, d) for d in one], "alltoall": [(s, d) for s in one for d in one]}
    return Chunks(name in ("reduce", "reducescatter", "allreduce"), [chunk for chunk in lists[name] for _ in range(pieces)])


def chunks_of(asked, ranks, pieces, name=None):
    """The chunks of `asked`, or of the collective `name` that is a part of it, with each block cut into
    `pieces`."""
    own = asked["collective"]
    order = asked.get("order", "agreed")
    if order not in ("agreed", "free", "once") and max(nodes_of(order), key=len) != frozenset(range(ranks)):
        raise Fault(f"{order} is not of all ranks")
    if isinstance(asked.get("chunks", 1), int):
        chunks = named_chunks(name or own, ranks, pieces, asked.get("root", 0) if own in ROOTED else 0)
        chunks.order = order
        return chunks
    if name not in (None, own):
        raise Fault(f"{name} is not a part of {own}")
    if any(len(set(chunk[key])) < len(chunk[key]) for chunk in asked["chunks"] for key in ("pre", "post")):
        raise Fault("a rank is named twice")
    before_after, places = [], []
    for number, chunk in enumerate(asked["chunks"]):
        for i in range(pieces):
            before_after.append((frozenset(chunk["pre"]), frozenset(chunk["post"])))
            places.append((chunk.get("input", number) * pieces + i, chunk.get("output", number) * pieces + i))
    return Chunks(bool(asked.get("combining", False)), before_after, places, order)


# -- schedules -----------------------------------------------------------------------------------------------

def schedule_faults(machine, chunks, schedule):
    """Faults of a schedule, by docs/semantics.md: counts, not sets."""
    faults = []
    sums = chunks.combining
    state = [[[0] * (machine.ranks if sums else 1) for _ in range(machine.ranks)] for _ in chunks.list]
    made_of = [[set() for _ in range(machine.ranks)] for _ in chunks.list]  # all sums in what a rank holds, and it itself
    for c, (pre, _) in enumerate(chunks.list):
        for n in pre if c not in chunks.sums else ():
            state[c][n][n if sums else 0] = 1
            made_of[c][n] = {frozenset([n])}

    def add_up():
        for c, operands in chunks.sums.items():
            for n in chunks.list[c][0]:
                state[c][n][0] = max(state[c][n][0], min(state[each][n][0] for each in operands))

    add_up()
    wanted = [[int(n in pre) for n in range(machine.ranks)] if sums else [1] for pre, _ in chunks.list]
    for s, step in enumerate(schedule, 1):
        load, seen, copies, adds = [0] * len(machine.links), set(), {}, {}
        rounds = whole(step["rounds"], 1)
        for send in step["sends"]:
            c, src, dst, l = (whole(number) for number in send[:4])
            if c >= len(chunks.list) or l >= len(machine.links) or machine.links[l][:2] != (src, dst) or send[4:] not in ([], ["+"]):
                raise Fault(f"step {s}: {send} names no chunk or link")
            load[l] += 1
            if not any(state[c][src]):
                faults.append(f"step {s}: rank {src} does not hold chunk {c}")
            if (c, l) in seen:
                faults.append(f"step {s}: chunk {c} twice over link {l}")
            seen.add((c, l))
            if send[4:]:
                adds.setdefault((c, dst), []).append(src)
                if not sums:
                    faults.append(f"step {s}: {send} adds")
                continue
            if (c, dst) in copies:
                faults.append(f"step {s}: two copies of chunk {c} to rank {dst}")
            copies[c, dst] = src
            if state[c][dst] == wanted[c] if sums else state[c][dst][0]:
                faults.append(f"step {s}: rank {dst} has chunk {c} already")
        for l, number in enumerate(load):
            if number > rounds * machine.links[l][2]:
                faults.append(f"step {s}: link {l} carries {number} chunks in {rounds} rounds")
        sends = [(*send[:4], bool(send[4:])) for send in step["sends"]]
        for i, limit in enumerate(machine.limits):
            if limit.counts(sends) > rounds * limit.bandwidth:
                faults.append(f"step {s}: limit {i} carries too much")
        after = {at: list(state[at[0]][src]) for at, src in copies.items()}
        parts = {at: set(made_of[at[0]][src]) for at, src in copies.items()} if sums else {}
        stated = stated_sums(step)
        if set(stated) - set(adds):
            raise Fault(f"step {s}: sums of what does not arrive")
        for (c, dst), sources in adds.items():
            both = parts.setdefault((c, dst), set(made_of[c][dst]))
            operands = bool(both)
            for src in sources:
                both |= made_of[c][src]
                operands += bool(made_of[c][src])
            if operands > 1:
                both.add(frozenset().union(*both))
            if (c, dst) in stated:
                values = {n: frozenset().union(*made_of[c][n]) for n in {copies.get((c, dst), dst), *sources} if made_of[c][n]}
                if max(stated[c, dst], key=len) != set(values):
                    raise Fault(f"step {s}: a sum of other values than those at rank {dst}")
                if chunks.order == "once":  # one addition, from the left in the order of the ranks
                    ranks = sorted(values)
                    if any(set(node) != set(ranks[:len(node)]) for node in stated[c, dst] if len(node) > 1):
                        raise Fault(f"step {s}: rank {dst} adds {sorted(map(sorted, stated[c, dst]))}")
                else:
                    both |= {frozenset().union(*(values[n] for n in node)) for node in stated[c, dst]}
        for (c, dst), both in parts.items():
            made_of[c][dst] = both
        for (c, dst), sources in adds.items():
            value = after.setdefault((c, dst), list(state[c][dst]))
            for src in sources:
                value[:] = [a + b for a, b in zip(value, state[c][src])]
            if max(value) > 1:
                faults.append(f"step {s}: a contribution to chunk {c} is counted {max(value)} times at rank {dst}")
        for (c, dst), value in after.items():
            state[c][dst] = value
        add_up()
    for c, (_, post) in enumerate(chunks.list):
        for n in post:
            if state[c][n] != wanted[c]:
                faults.append(f"at the end: rank {n} has chunk {c} as {state[c][n]}")
        if sums and not faults:
            faults += order_faults(chunks, c, set().union(*(made_of[c][n] for n in post)))
    return faults


def order_faults(chunks, c, made):
    """`made`: the sums that the destinations' values of a chunk are made of."""
    if chunks.fixed() is not None:
        nodes = {node & chunks.list[c][0] for node in chunks.fixed()}
        return [f"chunk {c}: {sorted(each)} is added up" for each in made if each not in nodes]
    if chunks.order == "free" or len(chunks.list[c][1]) < 2:
        return []
    return [f"chunk {c}: {sorted(a)} and {sorted(b)} are both added up" for a in made for b in made
            if a & b and not a <= b and not b <= a][:1]


def is_composition(machine, schedule, pieces, border):
    """Does a schedule of AllReduce reduce all of each chunk at its owner first, in `border` steps if not
    None, and only then hand the sums out?"""
    every = (1 << machine.ranks) - 1
    state = {(c, n): 1 << n for c in range(pieces * machine.ranks) for n in range(machine.ranks)}
    last = -1  # the last step that moves anything but a complete sum
    owned = None
    for s, step in enumerate(schedule):
        if owned is None and all(state[c, c // pieces] == every for c in range(pieces * machine.ranks)):
            owned = s
        if any(send[4:] or state[send[0], send[1]] != every for send in step["sends"]):
            last = s
        before = dict(state)
        for c, src, dst, _, *add in sorted(step["sends"], key=len):
            state[c, dst] = before[c, src] | (state[c, dst] if add else 0)
    if border is None or owned is None:
        return owned is not None and owned > last
    return owned <= border and last < border and gathers(machine, schedule[border:], pieces)


def gathers(machine, schedule, pieces):
    """Do these steps alone bring each chunk from its owner to all, each over senders that have it?"""
    holds = {(c, c // pieces) for c in range(pieces * machine.ranks)}
    for step in schedule:
        if any((send[0], send[1]) not in holds for send in step["sends"]):
            return False
        holds |= {(send[0], send[2]) for send in step["sends"]}
    return len(holds) == pieces * machine.ranks**2


# -- claims --------------------------------------------------------------------------------------------------

def least_ratio(owed, paid):
    """This many rounds are the least, before they are whole."""
    return 0 if owed == 0 else NEVER if owed == NEVER or paid == 0 else fractions.Fraction(owed, paid)


def costs_and_paid(machine, entry):
    """What a send over each link costs by these prices of links and limits, and what a round pays at most."""
    if len(entry["links"]) != len(machine.links) or len(entry["limits"]) != len(machine.limits):
        raise Fault("prices do not fit the machine")
    costs = [whole(price) for price in entry["links"]]
    paid = sum(b * price for (_, _, b), price in zip(machine.links, costs))
    for limit, price in zip(machine.limits, entry["limits"]):
        paid += limit.bandwidth * whole(price)
        for l in limit.links:
            costs[l] += price
    return costs, paid


def crossings(chunks, pre, post, group):
    """So many sends of a chunk at least go from a group of ranks to another."""
    have, need = {group[n] for n in pre}, {group[n] for n in post}
    if chunks.combining and chunks.order == "once":
        # Inputs cross as they are, to the group that adds; the sum goes on to all others that need it.
        return min(sum(group[n] != adds for n in pre) + len(need - {adds}) for adds in set(group))
    if chunks.combining and len(have) > 1:
        # Joining what this many groups have; then the others that need it: of all but the one that knew all
        # first, a send enters.
        return len(have) - 1 + len(need) - (1 if have & need else 0)
    return len(need - have)


def least_rounds(prices, machine, chunks, steps):
    """What the prices show: at least this many rounds (Weights). One entry: for any number of steps; else one
    a step."""
    if len(prices) != 1 and len(prices) != steps:
        raise Fault(f"prices for {len(prices)} steps, the claim is for {steps}")
    if not prices:
        raise Fault("no prices")
    costs, paid = zip(*(costs_and_paid(machine, entry) for entry in prices))

    def distances(sources):
        nodes = machine.ranks + machine.switches
        far = [0 if n in sources else NEVER for n in range(nodes)]
        if machine.switches and len(costs) > 1:
            raise Fault("prices of steps prove nothing about switches")
        anyway = machine.switches or steps is None
        for cost in costs if len(costs) > 1 else itertools.repeat(costs[0], nodes if anyway else steps):
            old = list(far)
            for (src, dst, _), price in zip(machine.links, cost):
                far[dst] = min(far[dst], old[src] + price)
            if far == old and len(costs) == 1:
                break
        return far

    owed = 0
    for chunk in set(chunks.list):
        pre, post = chunk
        # Each contribution to a sum has to get to every destination; of a copy the nearest will do.
        origins = [{n} for n in pre] if chunks.combining else [pre]
        dearest = max((distances(origin)[d] for origin in origins for d in post), default=0)
        owed += dearest * chunks.list.count(chunk) if dearest else 0
    return least_ratio(owed, max(paid))


def cheapest_tree(nodes, root, arcs):
    """The weight of the cheapest spanning arborescence, arcs (from, to, weight): grown by contracting cycles,
    one at a time; NEVER: there is none."""
    nodes = set(nodes)
    for node in nodes - {root}:
        into = [arc for arc in arcs if arc[1] == node and arc[0] != node]
        if not into:
            return NEVER
    lowest = {node: min((arc for arc in arcs if arc[1] == node and arc[0] != node), key=lambda arc: arc[2]) for node in nodes - {root}}
    for start in lowest:
        trail, at = [], start
        while at in lowest and at not in trail:
            trail.append(at)
            at = lowest[at][0]
        if at in trail:
            cycle = set(trail[trail.index(at):])
            new = ("cycle", max((node[1] for node in nodes if isinstance(node, tuple)), default=0) + 1)
            rest = cheapest_tree((nodes - cycle) | {new}, root, [
                (new if a in cycle else a, new if b in cycle else b, weight - (lowest[b][2] if b in cycle else 0))
                for a, b, weight in arcs if not (a in cycle and b in cycle)])
            return NEVER if rest == NEVER else rest + sum(lowest[node][2] for node in cycle)
    return sum(arc[2] for arc in lowest.values())


def trees_show(claim, machine, chunks):
    """A chunk that all ranks have or want crosses the links of a tree at least."""
    prices = claim["certificate"]["prices"]
    if len(prices) != 1 or machine.switches:
        raise Fault("trees need one entry of prices, of links between ranks")
    if any(price and (each.multicast or each.reduce and chunks.combining) for each, price in zip(machine.limits, prices[0]["limits"])):
        raise Fault("a limit that counts several sends once has a price")
    cost, paid = costs_and_paid(machine, prices[0])

    def tree(ends, inwards=chunks.combining):
        name = lambda n: "root" if n in ends else n
        arcs = [(name(dst), name(src), cost[l]) if inwards else (name(src), name(dst), cost[l])
                for l, (src, dst, _) in enumerate(machine.links)]
        return cheapest_tree({name(n) for n in range(machine.ranks)}, "root", arcs)

    def gossip(some, backwards):
        """Of a sum of all that some need: until the first of these knows it, the sends contain a tree from all;
        each other one is sent to after that. Backwards: a sum of some that all need."""
        arcs = [(dst, src, cost[l]) if backwards else (src, dst, cost[l]) for l, (src, dst, _) in enumerate(machine.links)]
        to = {r: min([weight for _, b, weight in arcs if b == r], default=NEVER) for r in some}
        trees = {r: cheapest_tree(everybody, r, [(b, a, weight) for a, b, weight in arcs]) for r in some}
        return min((sum([trees[r], *(to[other] for other in some if other != r)]) for r in some
                    if NEVER not in [trees[r], *(to[other] for other in some if other != r)]), default=0)

    def at_once(owner):
        """All contributions to one rank, each by itself, and a tree from there."""
        copies = Chunks(False, [(frozenset([n]), frozenset([owner])) for n in everybody])
        return tree({owner}, False) + (least_rounds(prices, machine, copies, None) * paid if paid else 0)

    owed = 0
    everybody = set(range(machine.ranks))
    for chunk in set(chunks.list):
        pre, post = chunk
        alone = Chunks(chunks.combining, [chunk], [(0, 0)], chunks.order)
        path = least_rounds(prices, machine, alone, None) * paid if paid else 0
        ends = [{d} for d in post if pre | {d} == everybody] if chunks.combining else [pre] if pre | post == everybody else []
        gossips = [gossip(some, backwards) for some, others, backwards in ((post, pre, False), (pre, post, True))
                if chunks.combining and others == everybody]
        once = [min(map(at_once, everybody))] if chunks.combining and chunks.order == "once" and pre == post == everybody else []
        dearest = max([path, *map(tree, ends), *gossips, *once])
        owed += dearest * chunks.list.count(chunk) if dearest else 0
    return least_ratio(owed, paid)


def weights_show(claim, machine, chunks):
    prices = claim["certificate"]["prices"]
    shown = least_rounds(prices, machine, chunks, claim["steps"])
    if chunks.combining:  # the prices of steps may be those of the dual, which runs backwards
        shown = max(shown, least_rounds(prices[::-1], machine, chunks, claim["steps"]))
    return shown


def least_toll(machine, cost, group):
    """Of the ways between groups, through switches alone, what the cheapest costs; 0 if there are none."""
    least = NEVER
    for n in range(machine.ranks):
        far = {n: 0}
        for _ in range(machine.switches + 1):
            for (src, dst, _), price in zip(machine.links, cost):
                if src in far and (src == n or src >= machine.ranks):
                    far[dst] = min(far.get(dst, NEVER), far[src] + price)
        least = min([least] + [far[m] for m in far if m < machine.ranks and group[m] != group[n]])
    return 0 if least == NEVER else least


def partition_shows(claim, machine, chunks):
    certificate = claim["certificate"]
    group, prices = certificate["group"], certificate["prices"]
    if len(group) != machine.ranks or len(prices) != 1:
        raise Fault("the partition does not fit the machine")
    cost, paid = costs_and_paid(machine, prices[0])
    if any(price and (limit.multicast or chunks.combining and limit.reduce) for limit, price in zip(machine.limits, prices[0]["limits"])):
        raise Fault("crossings are counted by a limit that counts several once")
    return least_ratio(sum(crossings(chunks, *chunk, group) for chunk in chunks.list) * least_toll(machine, cost, group), paid)


def cuts_show(claim, machine, chunks):
    """Sets of (rank, time) that chunks have to get into: what a send is charged for all of them it must be
    able to pay."""
    certificate, steps = claim["certificate"], claim["steps"]
    prices, group = certificate["prices"], certificate["group"]
    if machine.switches or any(limit.multicast or limit.reduce for limit in machine.limits):
        raise Fault("cuts prove nothing about switches that do something")
    if steps is None or len(prices) != steps or (group and len(group) != machine.ranks):
        raise Fault("the cuts do not fit the claim")
    inside = []
    for cut in certificate["cuts"]:
        if len(cut["until"]) != machine.ranks:
            raise Fault("a cut does not fit the machine")
        inside.append((whole(cut["price"]), {(n, t) for n, last in enumerate(cut["until"]) for t in range(min(steps, last) + 1)}))
    paid, toll = [], NEVER
    for s, entry in enumerate(prices):
        costs, of_a_round = costs_and_paid(machine, entry)
        paid.append(of_a_round)
        for l, (src, dst, _) in enumerate(machine.links):
            purse = costs[l] - sum(price for price, those in inside if (dst, s + 1) in those and (src, s) not in those)
            if purse < 0:
                raise Fault(f"link {l} cannot pay for its cuts in step {s + 1}")
            if group and group[src] != group[dst]:
                toll = min(toll, purse)
    owed = 0
    for pre, post in chunks.list:
        for price, those in inside:
            starts = [(n, 0) not in those for n in pre]
            if (any(starts) if chunks.combining else all(starts)) and any((n, steps) in those for n in post):
                owed += price
        if group and toll != NEVER:
            owed += toll * crossings(chunks, pre, post, group)
    return least_ratio(owed, max(paid))


def entries_show(claim, machine, chunks):
    """Rounds that a chunk's entries into the group show: what enters t rounds before the end gets no farther
    than spread[t]."""
    certificate = claim["certificate"]
    group, prices = certificate["group"], certificate["prices"]
    if machine.switches or any(each.multicast or each.reduce for each in machine.limits):
        raise Fault("entries prove nothing about switches")
    if chunks.combining:
        if not chunks.turns_round():
            raise Fault("entries prove nothing about sums for several")
        machine, chunks = machine.reversed(), chunks.dual()
    if len(group) != machine.ranks or set(group) - {0, 1} or len(prices) != 1:
        raise Fault("the group does not fit the machine")
    cost, paid = costs_and_paid(machine, prices[0])
    toll = min((cost[l] for l, (src, dst, _) in enumerate(machine.links) if not group[src] and group[dst]), default=0)
    entering = [post for pre, post in chunks.list if not any(group[n] for n in pre) and any(group[n] for n in post)]
    if toll == 0 or not entering:
        raise Fault("nothing has to enter the group, or it costs nothing")
    want = min(sum(group[n] for n in post) for post in entering)
    inside = {n: {dst for src, dst, _ in machine.links if src == n and group[dst]} for n in range(machine.ranks) if group[n]}
    fan = max(min(len(to), machine.carried([l for l, (src, dst, _) in enumerate(machine.links) if src == n and group[dst]], True))
              for n, to in inside.items())
    near = {n: {n} for n in inside}
    spread, worth, rounds = 1, 0, 0
    while paid * worth < toll * len(entering) * want:
        worth += min(spread, want)
        rounds += 1
        near = {n: to | {m for k in to for m in inside[k]} for n, to in near.items()}
        spread = min(spread * (1 + fan), max(map(len, near.values())))
    return rounds


def growth_shows(claim, machine, chunks, work=200_000):
    """True, False, or None if that is too much to find out: can equal chunks not spread in a round less than
    claimed?"""
    if chunks.combining:
        if not chunks.turns_round():
            return None
        machine, chunks = machine.reversed(), chunks.dual()
    if claim["rounds"] is None:
        return None
    chunk = chunks.list[whole(claim["certificate"]["chunk"])]
    pre, post = chunk
    count, goal = min(6, chunks.list.count(chunk)), len(post - pre)
    others = [n for n in range(machine.ranks) if n not in pre]
    useful = [(l, src, dst) for l, (src, dst, _) in enumerate(machine.links) if dst not in pre and src != dst]
    most = len(others)
    first = machine.carried([l for l, src, _ in useful if src in pre], True)
    other = max((machine.carried([l for l, src, _ in useful if src == n], True) for n in others), default=0)
    into = max((machine.carried([l for l, _, dst in useful if dst == n], False) for n in others), default=0)
    budget = claim["rounds"] - 1
    if goal == 0 or budget < 0:
        return False
    layer = {(0,) * count: 0}
    for _ in range(budget if claim["steps"] is None else min(claim["steps"], budget)):
        after = dict(layer)
        for held, used in layer.items():
            for r in range(1, budget - used + 1):
                free = [min(most - n, r * other * n) for n in held]
                total = min(r * min(first + other * min(most, sum(held)), into * most), sum(free) + r * first, sum(most - n for n in held))
                # What is possible is a polymatroid: what cannot grow has this total.
                for x in itertools.product(*(range(most - n + 1) for n in held)):
                    work -= 1
                    if work < 0:
                        return None
                    if sum(x) == total and sum(max(0, a - f) for a, f in zip(x, free)) <= r * first:
                        state = tuple(sorted(a + n for a, n in zip(x, held)))
                        after[state] = min(after.get(state, budget), used + r)
        if after == layer:
            break
        layer = after
    return not any(min(state) >= goal for state in layer)


def is_of_any_chunks(claim):
    if claim.get("any_chunks", False) not in (True, False):
        raise Fault("any_chunks is neither true nor false")
    if claim.get("any_chunks", False) and whole(claim["chunks"], 1) > 1 << 15:
        raise Fault("rounds per more chunks than are counted")
    return claim.get("any_chunks", False)


def per_chunk(claim):
    """What a claim about any chunk count states of one chunk."""
    return NEVER if claim["rounds"] is None else fractions.Fraction(whole(claim["rounds"]), whole(claim["chunks"], 1))


def claimed(claim):
    return NEVER if claim["rounds"] is None else whole(claim["rounds"])


def verify_claim(claim, machine, asked, kind, truth, verdict, where):
    """Appends what is wrong with it; Fault if all is."""
    name, certificate = claim["collective"], claim["certificate"]
    any_chunks = is_of_any_chunks(claim)
    # Of any chunk count: what one chunk per block shows, every chunk more shows once more.
    pieces = 1 if any_chunks else whole(claim["chunks"], 1)
    steps = None if claim["steps"] is None else whole(claim["steps"])
    parts = (asked["collective"],) + ((*first_phases(asked), "allgather", BY_GATHER) if asked["collective"] == "allreduce" and kind == "frontier" else ())
    if name not in parts:
        verdict.undecided.append(f"{where}: is about {name}")
        return
    chunks = chunks_of(asked, machine.ranks, pieces, name)
    shows = certificate["kind"]
    real = truth and truth.fewest(machine, chunks, steps)
    if real is not None and real < (claimed(claim) if not any_chunks else per_chunk(claim)):
        raise Fault(f"{name} with {pieces} chunks has a schedule of {real} rounds within {steps} steps, claimed are {claim['rounds']}")
    if machine.below:
        machine = machine.below
        if shows in ("growth", "entries", "refutation"):
            raise Fault("proves nothing about routes that were not chosen")
    if any_chunks and (shows in ("growth", "entries") or shows == "refutation" and (claim["rounds"] is not None or claim["chunks"] != 1)):
        raise Fault(f"{shows} proves nothing about other chunk counts")
    if claimed(claim) == 0:
        return  # that is so whatever shows it
    if shows == "distance":
        c, n = whole(certificate["chunk"]), whole(certificate["rank"])
        if c >= len(chunks.list):
            raise Fault("no such chunk")
        pre, post = chunks.list[c]
        starts, ends = (machine.hops([n]), post) if chunks.combining else (machine.hops(pre), {n})
        if n not in (pre if chunks.combining else post):
            raise Fault(f"rank {n} has nothing to do with chunk {c}")
        if all(end in starts and (steps is None or starts[end] <= steps) for end in ends):
            raise Fault("the distance is less")
    elif shows in ("weights", "partition", "trees", "cuts", "entries"):
        if shows != "cuts" and machine.switches and steps == len(certificate["prices"]):
            verdict.undecided.append(f"{where}: prices of steps prove nothing about switches, and these may be of all steps")
        shown = {"weights": weights_show, "partition": partition_shows, "trees": trees_show, "cuts": cuts_show, "entries": entries_show}[shows](claim, machine, chunks)
        if shown == NEVER and claim["rounds"] is not None:
            verdict.undecided.append(f"{where}: more is true")
        if shown < per_chunk(claim) if any_chunks else (NEVER if shown == NEVER else math.ceil(shown)) < claimed(claim):
            raise Fault(f"{shows} show {shown} rounds, claimed are {claim['rounds']}")
    elif shows == "growth":
        shown = growth_shows(claim, machine, chunks)
        if shown is None and real is None:
            verdict.undecided.append(f"{where}: growth")
        elif shown is False:
            raise Fault("the chunks may spread faster")
        if steps is None:
            verdict.undecided.append(f"{where}: growth in any number of steps")
    elif shows == "refutation":
        if real is None:
            verdict.undecided.append(f"{where}: refutation")
        if claimed(claim) == 0:
            raise Fault("refutes less than no rounds")
        if steps is None or steps < 1 or claimed(claim) < 2:
            raise Fault("a refutation is of a number of steps and rounds")
        if certificate.get("chunk", 0) >= (len(chunks.list) if claim["rounds"] is None else 1):
            raise Fault("refutes another chunk")
        if certificate.get("engine", "sat") != "sat":
            raise Fault("no such engine")
    else:
        raise Fault(f"{shows!r} shows nothing")


# -- conclusions ---------------------------------------------------------------------------------------------

class Space:
    """What was searched, of either version of the format."""

    def __init__(self, result):
        space = result.get("space", result)
        self.least = whole(space["min_chunks"], 1)
        self.most = NEVER if space["max_chunks"] is None else whole(space["max_chunks"], 1)
        if self.most < self.least:
            raise Fault("the space has no chunks")
        # Those that are tried one by one: where there is no most, the least two.
        self.chunks = range(self.least, (self.least + 1 if self.most == NEVER else self.most) + 1)
        extra = space.get("extra_rounds")
        self.extra = None if extra in (None, -1) else whole(extra)
        self.steps, self.rounds = (None if space.get(key) is None else whole(space[key]) for key in ("max_steps", "max_rounds"))

    def has_chunks(self, pieces):
        return self.least <= pieces <= self.most

    def has(self, steps, rounds):
        return ((self.steps is None or steps <= self.steps) and (self.rounds is None or rounds <= self.rounds) and
                (self.extra is None or rounds <= steps + self.extra))


class Family:
    """Schedules of one way to do what was asked: chunks of their cost, and the fewest rounds of exactly s
    steps that claims leave."""

    def __init__(self, way, chunks, tables, zero):
        self.way, self.chunks, self.tables, self.zero = way, chunks, tables, zero
        # From here on nothing but s counts: no claim is about so few steps, and k leaves room for all rounds
        # that are claimed.
        self.turn = sum(max([s for s in table if s is not None] + [r for r in table.values() if r < NEVER] + [0]) for table in tables) + 1
        self.parts = [[] for _ in tables]  # by part and steps: the fewest rounds of these
        self.known = []

    def fewest(self, steps):
        while len(self.known) <= steps:
            s = len(self.known)
            for part, table in zip(self.parts, self.tables):
                part.append(self.fewest_of_part(table, s))
            self.known.append(min(map(operator.add, self.parts[0], reversed(self.parts[1]))) if self.parts[1:] else self.parts[0][s])
        return self.known[steps]

    def fewest_of_part(self, table, steps):
        """A step has a round, no step has none."""
        least = max([steps] + [rounds for most, rounds in table.items() if most is None or most >= steps])
        return NEVER if self.zero and steps == 0 and least else least


class AnyFamily:
    """Schedules of any chunk count: the fewest rounds per chunk within s steps that claims about any chunk
    count leave."""

    def __init__(self, space, claims):
        self.space, self.claims, self.way = space, claims, "any"
        # Where the fewest chunks have as many rounds as claimed, and k leaves room for all.
        named = [claim["steps"] for claim in claims if claim["steps"] is not None]
        self.turn = max(named + [math.ceil(per_chunk(claim) * space.least) for claim in claims if claim["rounds"] is not None] + [0]) + 1
        self.lowest = []

    def rate_within(self, steps):
        while len(self.lowest) <= steps:
            s = len(self.lowest)
            rates = [per_chunk(claim) for claim in self.claims if claim["steps"] is None or claim["steps"] >= s]
            least = max(rates, default=fractions.Fraction(0))
            # As a schedule of the fewest chunks has it, the fewest rounds are to be in the space.
            possible = least < NEVER and self.space.has(s, math.ceil(least * self.space.least))
            self.lowest.append(min(least if possible else NEVER, self.lowest[-1] if self.lowest else NEVER))
        return self.lowest[steps]


def families(result, ranks, space, zero, counts=None):
    """zero: is it seen that a schedule of no steps has no rounds, so that a bound on them excludes it?
    counts: of these only."""
    asked = result["collective"]["collective"]
    three = asked == "allreduce" and result["kind"] == "frontier" and isinstance(result["collective"].get("chunks", 1), int)
    if counts is None and space.most == NEVER:
        # A claim about some chunk count implies nothing about others. Compositions are direct schedules of
        # some count.
        anyhow = [claim for claim in result["claims"] if is_of_any_chunks(claim)]
        yield AnyFamily(space, [claim for claim in anyhow if claim["collective"] == asked])
        if three:  # messages are counted however sums are made; refutations are of sums on the way
            by_messages = [claim for claim in anyhow if claim["collective"] == asked and claim["certificate"]["kind"] != "refutation"]
            yield AnyFamily(space, [claim for claim in anyhow if claim["collective"] in ("allgather", BY_GATHER)] + by_messages)
            if "alltoall" in first_phases(result["collective"]):
                yield AnyFamily(space, by_messages)
        return

    def table(pieces, *names):  # names of the same chunks
        merged = {}
        for claim in result["claims"]:
            if claim["collective"] not in names or not (is_of_any_chunks(claim) or claim["chunks"] == pieces):
                continue
            rounds = claimed(claim)
            if is_of_any_chunks(claim) and rounds < NEVER:
                rounds = math.ceil(per_chunk(claim) * pieces)
            merged[claim["steps"]] = max(merged.get(claim["steps"], 0), rounds)
        return merged

    for c in range(space.least, space.most + 1) if counts is None else counts:
        yield Family("direct", c, [table(c, asked)], zero)
        if three:
            yield Family("gather+local_reduce", c, [table(c, "allgather", BY_GATHER)], zero)
            for first in first_phases(result["collective"]):
                yield Family("reduce_scatter+allgather", c * ranks, [table(c, first), table(c, "allgather", BY_GATHER)], zero)


def as_good(p, steps, rounds, chunks):
    """Is point p no worse in steps and in rounds per chunk?"""
    return p["steps"] <= steps and p["rounds"] * chunks <= rounds * p["chunks"]


def better(steps, rounds, chunks, p):
    """Does that dominate p?"""
    a, b = rounds * p["chunks"], p["rounds"] * chunks
    return steps <= p["steps"] and a <= b and (steps < p["steps"] or a < b)


def room_for_better(p, families_, space):
    """A cost in the space that dominates p and that no claim excludes, or None."""
    for family in families_:
        if family.way == "any":
            own = fractions.Fraction(p["rounds"], p["chunks"])
            for steps in range(p["steps"] + 1):
                least = family.rate_within(steps)
                if least < own or least == own and steps < p["steps"]:
                    return steps, least, "any"
            continue
        for steps in range(p["steps"] + 1):
            rounds = family.fewest(steps)
            if rounds < NEVER and space.has(steps, rounds) and better(steps, rounds, family.chunks, p):
                return steps, rounds, family.chunks
    return None


def least_rates(families_, space, most_steps):
    """By most steps, 0 to these: the fewest rounds per chunk that no claim excludes; NEVER if all is
    excluded."""
    least = [NEVER]
    for steps in range(most_steps + 1):
        for family in families_ if space.steps is None or steps <= space.steps else []:
            if family.way == "any":
                least[-1] = min(least[-1], family.rate_within(steps))
                continue
            rounds = family.fewest(steps)
            if rounds < NEVER and space.has(steps, rounds):
                least[-1] = min(least[-1], fractions.Fraction(rounds, family.chunks))
        least.append(least[-1])
    return least[:-1]


def rate(stated):
    """[rounds, chunks] of the file; null rounds: there is no schedule."""
    rounds, chunks = stated
    return NEVER if rounds is None else fractions.Fraction(whole(rounds), whole(chunks, 1))


def verify_bound(p, families_, space):
    """What a point states about the bound on the rate of its steps, and its gap to that."""
    stated, shown = rate(p["bound"]), least_rates(families_, space, p["steps"])[-1]
    if stated > shown:
        raise Fault(f"the bound is {stated}, the claims leave room for {shown}")
    if stated < shown:
        raise Fault(f"the bound is {stated}, the claims show {shown}")
    if stated == NEVER:
        return  # a point where there is none: its schedule is wrong, or it is outside of the space
    own = fractions.Fraction(p["rounds"], p["chunks"])
    gap = None if stated == 0 and own > 0 else 0.0 if stated == 0 else float(own / stated - 1)
    if (p["gap"] is None) != (gap is None) or gap is not None and abs(gap - p["gap"]) > 1e-5 * max(1, gap):
        raise Fault(f"the gap is {gap}, stated is {p['gap']}")


def best_rates(points, most_steps):
    """By most steps, 0 to these: the fewest rounds per chunk of a point."""
    rates = [(p["steps"], fractions.Fraction(p["rounds"], p["chunks"])) for p in points]
    starts = sorted({0, *(steps for steps, _ in rates if steps <= most_steps), most_steps + 1})
    return [best for start, end in itertools.pairwise(starts) for best in
            [min((rate_ for steps, rate_ in rates if steps <= start), default=NEVER)] * (end - start)]


def openings_left(points, families_, space):
    """By steps, wherever it changes: what was found with at most this many, and what the claims leave
    possible, if that is less."""
    left, last = [], None
    most = max([f.turn for f in families_] + [p["steps"] for p in points]) + 1
    possible = least_rates(families_, space, min(most, space.steps if space.steps is not None else most))
    for steps, now in enumerate(zip(best_rates(points, len(possible) - 1), possible)):
        if now != last and now[1] < now[0]:
            left.append((steps, *now))
        last = now
    return left


def verify_openings(openings, points, families_, space, verdict):
    """Exactly what is open is reported to be open."""
    for o in openings:
        if any(r is not None and r[0] is not None and math.gcd(*r) > 1 for r in (o["found"], o["bound"])):
            verdict.faults.append("a fraction of an opening is not reduced")
    stated = [(whole(o["steps"]), NEVER if o["found"] is None else rate(o["found"]), rate(o["bound"])) for o in openings]
    left = openings_left(points, families_, space)
    if stated != left:
        verdict.faults.append(f"open are {left}, stated are {stated}")


def verify_complete_chunks(result, machine, space, zero, room, verdict):
    """Of this many chunks a block and fewer nothing better is left, and of one more something is."""
    if "complete_chunks" not in result:
        return
    stated, closed = result["complete_chunks"], 0
    if not room and (result["complete"] or result["kind"] != "algorithm"):
        closed = space.most
    elif result["kind"] != "algorithm":
        for count in range(space.least, min(space.most, space.least + 63) + 1):
            if openings_left(result["points"], list(families(result, machine.ranks, space, zero, [count])), space):
                break
            closed = count
    if (NEVER if stated is None else whole(stated)) != closed:
        verdict.faults.append(f"complete for up to {stated} chunks is stated, the claims show {closed}")


def room_besides(points, families_, space):
    """A cost in the space that no point is as good as and that no claim excludes, or None."""
    for family in families_:
        if family.way == "any":
            most = max([family.turn] + [p["steps"] for p in points]) + 1
            for steps, found in enumerate(best_rates(points, most if space.steps is None else min(most, space.steps))):
                if family.rate_within(steps) < found:
                    return steps, family.rate_within(steps), "any"
            continue
        steps = 0
        while True:
            if space.steps is not None and steps > space.steps or space.rounds is not None and steps > space.rounds:
                break
            if any(as_good(p, steps, steps, family.chunks) for p in points):
                break  # and all that have more steps
            rounds = family.fewest(steps)
            if rounds < NEVER and space.has(steps, rounds) and not any(as_good(p, steps, rounds, family.chunks) for p in points):
                return steps, rounds, family.chunks
            if steps > family.turn and (rounds == NEVER or steps > 100_000):
                break
            steps += 1
    return None


# -- points --------------------------------------------------------------------------------------------------

def verify_point(p, machine, asked, space, kind, verdict):
    """Faults of its schedule and of what is reported about it."""
    faults = []
    does, method, pieces = p["does"], p["method"], whole(p["chunks"], 1)
    name = asked["collective"]
    custom = not isinstance(asked.get("chunks", 1), int)
    part = {"reduce_scatter+allgather": machine.ranks}.get(method, 1)
    if method == "gather+local_reduce":
        if name != "allreduce" or custom or (does["collective"], does.get("chunks", 1)) != (BY_GATHER, pieces):
            raise Fault("does not gather what an allreduce needs")
        chunks = named_chunks(BY_GATHER, machine.ranks, pieces, 0)
    elif does["collective"] == IN_PHASES:
        if name != "allreduce" or custom or "alltoall" not in first_phases(asked) or does.get("chunks", 1) != pieces or part == 1:
            raise Fault("does not do in phases what an allreduce needs")
        chunks = phased_chunks(machine.ranks, pieces)
    else:
        chunks = chunks_of(asked, machine.ranks, pieces)
        if custom:
            if does["collective"] != asked["collective"] or not asked["collective"]:
                raise Fault("does what has another name")
            if asked.get("chunks_per_block", 1) != 1 or does.get("chunks_per_block", 1) != pieces:
                raise Fault("cuts blocks otherwise than it states")
            own = chunks_of(does, machine.ranks, 1)
            if own.combining != chunks.combining or len(own.list) != len(chunks.list):
                raise Fault("does something else")
            for a, b in zip(sorted(zip(own.places, own.list), key=repr), sorted(zip(chunks.places, chunks.list), key=repr)):
                if a[0] != b[0] or a[1][1] != b[1][1] or not (a[1][0] == b[1][0] or not own.combining and a[1][0] < b[1][0]):
                    raise Fault("does something else")
                if a != b:
                    verdict.undecided.append("takes copies from fewer ranks than have them")
            chunks = own
        elif does["collective"] != name or does.get("chunks", 1) != pieces or (name in ROOTED and does.get("root", 0) != asked.get("root", 0)):
            raise Fault("does something else")
    if method == "reduce_scatter+allgather" and (name != "allreduce" or custom):
        raise Fault(f"{method} is not an algorithm for {name}")
    if method not in FOUND_BY + BY_HAND.get(name, ()) or (custom and method not in FOUND_BY):
        raise Fault(f"{method!r} is not an algorithm for {name}")
    if "reduce_scatter_steps" in p and not (method == "reduce_scatter+allgather" and 0 <= p["reduce_scatter_steps"] <= len(p["schedule"])):
        raise Fault("states where an Allgather begins, and has none there")
    if method == "dual" and not (chunks.combining and chunks.one_destination()):
        raise Fault(f"{name} has no dual")
    if kind != "algorithm" and pieces % part:
        faults.append(f"{pieces} chunks are not {part} times as many")
    in_space = space.has_chunks(pieces // part) and space.has(p["steps"], p["rounds"])
    if not in_space:
        faults.append("is outside of the space")
    if p["steps"] != len(p["schedule"]) or p["rounds"] != sum(whole(step["rounds"], 1) for step in p["schedule"]):
        faults.append("the cost is not that of the schedule")
    faults += schedule_faults(machine, chunks, p["schedule"])
    if method == "reduce_scatter+allgather" and not faults and chunks.sums:
        border = p.get("reduce_scatter_steps", 0)
        if any((send[0] in chunks.sums) == (s < border) for s, step in enumerate(p["schedule"]) for send in step["sends"]):
            faults.append("is no Alltoall followed by an Allgather")
    elif method == "reduce_scatter+allgather" and not faults and not is_composition(machine, p["schedule"], pieces // part, p.get("reduce_scatter_steps")):
        faults.append("is no ReduceScatter followed by an Allgather")
    return faults


def verify(result, truth=None):
    verdict = Verdict()
    try:
        verify_parts(result, truth, verdict)
    except Fault as fault:
        verdict.faults.append(str(fault))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, StopIteration) as error:
        verdict.faults.append(f"not of the format: {error!r}")
    return verdict


def verify_parts(result, truth, verdict):
    if result["chorale_result"] not in (1, 2) or result["kind"] not in KINDS or result["stopped"] not in STOPS:
        raise Fault("version, kind or stopped is not of the format")
    machine, asked, points = Machine.read(result["topology"]), result["collective"], result["points"]
    space = Space(result)
    for each in [asked, *(p["does"] for p in points)]:
        require_root(each, machine.ranks)
    for p in points:
        whole(p["steps"]), whole(p["rounds"]), whole(p["chunks"], 1)
    for i, p in enumerate(points):
        where = f"point {i}"
        try:
            verdict.faults += [f"{where}: {fault}" for fault in verify_point(p, machine, asked, space, result["kind"], verdict)]
        except Fault as fault:
            verdict.faults.append(f"{where}: {fault}")
    for i, claim in enumerate(result["claims"]):
        where = f"claim {i}"
        try:
            verify_claim(claim, machine, asked, result["kind"], truth, verdict, where)
        except Fault as fault:
            verdict.faults.append(f"{where}: {fault}")
    # Is it seen that no steps have no rounds, so that a bound on them excludes them? bounds.md does not
    # report it; it is true.
    first, second = (conclusions(result, machine, space, zero) for zero in (True, False))
    verdict.faults += [fault for fault in first.faults if fault in second.faults]
    verdict.undecided += first.undecided + [f"arithmetic of no steps: {fault}" for fault in set(first.faults) ^ set(second.faults)]


def conclusions(result, machine, space, zero):
    """What is false of what the file concludes: in version 2 each conclusion is exactly what follows, before
    no more than that."""
    said, points, exact = Verdict(), result["points"], "space" in result
    faults = said.faults
    less = faults if exact else said.undecided
    known = list(families(result, machine.ranks, space, zero))
    for i, p in enumerate(points):
        dominated = any(better(q["steps"], q["rounds"], q["chunks"], p) for q in points)
        equal = [j for j, q in enumerate(points) if as_good(q, p["steps"], p["rounds"], p["chunks"]) and as_good(p, q["steps"], q["rounds"], q["chunks"])]
        marked = [j for j in equal if points[j]["on_frontier"]]
        if p["on_frontier"] and dominated:
            faults.append(f"point {i}: another dominates it")
        elif not dominated and not marked:
            faults.append(f"point {i}: nothing dominates it")
        elif not dominated and marked != equal[:1]:
            said.undecided.append(f"point {i}: which of equal points is on the frontier")
        # A point that others dominate is verified in its family with its chunks.
        way = p["method"] if p["method"] in ("gather+local_reduce", "reduce_scatter+allgather") else "direct"
        own = known if p["on_frontier"] else [
            f for f in families(result, machine.ranks, space, zero, [p["chunks"] // (machine.ranks if way == "reduce_scatter+allgather" else 1)])
            if f.chunks == p["chunks"] and f.way == way]
        if exact:
            if rate(p["bound"]) != NEVER and math.gcd(*p["bound"]) > 1:
                faults.append(f"point {i}: a bound that can be reduced")
            try:
                verify_bound(p, own, space)
            except Fault as fault:
                faults.append(f"point {i}: {fault}")
        room = room_for_better(p, own, space)
        if p["proven"] and room:
            faults.append(f"point {i}: the claims leave room for {room}")
        if not p["proven"] and not room:
            (less if p["on_frontier"] else said.undecided).append(f"point {i}: is proven, and does not say so")
    room = room_besides(points, known, space)
    if exact:
        verify_openings(result["openings"], points, known, space, said)
        verify_complete_chunks(result, machine, space, zero, bool(room), said)
        limit = {"conflict limit": "conflicts", "time limit": "time_ms"}.get(result["stopped"])
        if limit and result["limits"][limit] is None:
            faults.append("stopped by a limit that there was not")
        composed = points and all(p["method"] == "levels" for p in points)
        if result["kind"] == "algorithm" and (len(points) != 1 and not composed or result["stopped"]):
            faults.append("an algorithm is one point, or some that are composed, and not a search")
        if not result["complete"] and not result["stopped"] and result["kind"] == "frontier":
            faults.append("neither complete nor stopped")
    # A baseline, or one that is composed, is complete only if no chunk count has a better rate.
    if not result["complete"] and not room and result["kind"] != "algorithm":
        less.append("is complete, and does not say so")
    if result["complete"]:
        if result["stopped"]:
            faults.append("complete, and stopped")
        if not all(p["proven"] for p in points if p["on_frontier"]):
            faults.append("complete, with a point that is not proven")
        elif not all(p["proven"] for p in points):
            said.undecided.append("complete, with a point off the frontier that is not proven")
        if room:
            faults.append(f"complete, and the claims leave room for {room}")
    return said


if __name__ == "__main__":
    said = verify(json.load(open(sys.argv[1])))
    print("\n".join(said.faults + [f"undecided: {each}" for each in said.undecided]) or "nothing is false")
    sys.exit(2 if said.faults else 3 if said.undecided else 0)
