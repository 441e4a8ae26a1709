"""Lower bounds on rounds per chunk, whatever the schedule and however many chunks a block is cut into, by
code that shares nothing with the program's. A bound is an exact fraction; where prices come from floating
point, they are rounded to integers first and what they show is then summed up exactly.

    least(machine, question)   (a Fraction, which of the arguments below gave it)

A round carries what the network carries (network.py). Let R be rounds and C chunks of a block.

*Cut.* Let S be some of the ranks. Every chunk that lies in S only and is wanted outside crosses from S to the
others at least once. If D blocks do, D C <= R c(S), where c(S) is a minimum cut between S and the other
ranks: switches hold nothing, so each may be counted on either side. For chunks with the same destinations
(Allgather, Broadcast, Allgatherv) the largest D / c(S) is found exactly: for each sink t, a maximum flow from
a source that has an arc of x w(n) to every rank n with w(n) blocks; where it does not carry x times all
blocks, its cut gives a smaller x, until none does (Dinkelbach). Without switches and limits, packings of
trees attain this rate (Edmonds), so no better bound is true. Where several ranks share a limit it is weaker
than a partition whose blocks pay for it once: on cluster22 Allgather needs 19/8, which `chorale bounds`
proves, and cuts show 2. The same holds for the sums below. Where there are several sets of destinations, S is
searched by adding and removing ranks.

*Mirror.* A schedule of a sum with one destination, reversed in time and over reversed links, is one of
copies and has the same rounds. So ReduceScatter and Reduce are asked as Allgather and Broadcast of the
reversed machine.

*Prices.* Let every arc have a price, and let d be the cheapest path from a source of a chunk to its
destination. Each block pays at least d C, and all rounds pay at most R times the sum of prices times
bandwidths. For chunks with one destination (Alltoall, Scatter) the best prices are the dual of a fractional
flow, so the bound is the rate of arbitrarily many chunks. They are found by moving flow between paths until
the softened worst congestion is least; any iterate is a bound, so an early end is only weaker.

*Partition* (sums for several ranks: AllReduce). Part the ranks into blocks, of which p have a rank that
contributes, and q one that needs the sum; each chunk crosses between blocks at least (p - 1) + (q - 1) times,
and once more if no block does both: until some block knows of all p, p - 1 joinings are needed, and each
other block that needs the sum is entered once more. All crossings leave some block, so ((p - 1) + (q - 1)) C
<= R sum of c(block). Over all partitions of all ranks the best for an AllReduce is found exactly: a minimum
of sum (c(block) - x) is a Dilworth truncation, whose greedy algorithm is a minimum cut a rank. The same for
what enters blocks. Each found partition is evaluated again by its own cuts, so a mistake of that search would
weaken the bound and not falsify it. A relaxation: crossings out of different blocks are counted by
themselves, and what needs both many crossings and one narrow cut is not seen. Rank sets between a contributor
and one that needs the sum count once (cut). In groups inside a machine, ranks that take no part belong to
blocks, too, since they may add up; the best of those partitions is NP-hard (Steiner trees), so blocks are
sought by moving ranks.

*Gossip* (AllReduce of all ranks, over one-way links). Let the sends of a chunk be in order, and rank r the
first that knows of all contributions. Sends until then contain a tree into r, and after that each other rank
is entered once more. So a chunk pays the least over r of the cheapest tree into r and of the cheapest arc
into each other rank. The best prices are the dual of a packing of these, found by adding the cheapest of
them again and again at the price of what is loaded; what whole prices show is summed up exactly.
"""

import collections
import fractions
import heapq
import math
import random

import network as networks

Fraction = fractions.Fraction
NAMED = ("broadcast", "scatter", "gather", "allgather", "alltoall", "reduce", "reducescatter", "allreduce")
GOSSIPS = 600  # trees into a rank, with arcs into the others; prices are within 1 % or so after as many
SWEEPS = 120  # of all chunks, each moved between two paths; most questions end after 10 to 50
ENOUGH = 1.003  # prices end where a flow that needs so much more is known
CAP = 4  # an amount that is moved changes no price more than exp(CAP) times
SHARP = 0.4  # at 2 the gap on random one-way and Kautz graphs is 2 to 3 % instead of less than 1
MOVES = 400  # cuts that a search by moving ranks may ask for


def demands(question, ranks):
    """(is it sums?, blocks by (ranks before, ranks after)) of a name, or of what a collective's file states.
    Roots are rank 0."""
    every, one = frozenset(range(ranks)), [frozenset([n]) for n in range(ranks)]
    if isinstance(question, dict):
        blocks = collections.Counter((frozenset(c["pre"]), frozenset(c["post"])) for c in question["chunks"])
        return question.get("combining", False), blocks
    lists = {
        "broadcast": [(one[0], every)],
        "reduce": [(every, one[0])],
        "allreduce": [(every, every)],
        "scatter": [(one[0], d) for d in one],
        "gather": [(s, one[0]) for s in one],
        "allgather": [(s, every) for s in one],
        "reducescatter": [(every, d) for d in one],
        "alltoall": [(s, d) for s in one for d in one],
    }
    return question in ("reduce", "reducescatter", "allreduce"), collections.Counter(lists[question])


def least(machine, question):
    net = networks.Network(machine)
    sums, blocks = demands(question, net.ranks)
    if not sums:
        return of_copies(net, blocks)
    if all(len(post) == 1 for _, post in blocks):
        return of_copies(
            net.reversed(), collections.Counter({(post, pre): count for (pre, post), count in blocks.items()})
        )
    return of_sums(net, blocks)


def least_steps(machine, question):
    """The diameter, as far as this question goes: the most hops from the nearest rank that has a chunk to one
    that needs it, or from any that contributes to a sum."""
    net = networks.Network(machine)
    sums, blocks = demands(question, net.ranks)
    hops = [net.hops(n) for n in range(net.ranks)]
    farthest = max if sums else min
    return max(farthest(hops[s][d] for s in pre) for pre, post in blocks for d in post)


def of_copies(net, blocks):
    blocks = {(pre, post): count for (pre, post), count in blocks.items() if not post <= pre}
    if not blocks:
        return Fraction(0), "nothing moves"
    if all(len(post - pre) == 1 for pre, post in blocks) and len(blocks) > 1:
        return max((priced(net, blocks)[0], "prices"), by_sets(net, blocks))
    best, by_post = (Fraction(0), "cut"), collections.defaultdict(dict)
    for (pre, post), count in blocks.items():
        by_post[post][pre, post] = count
    found = []
    for post, some in by_post.items():
        rate, inside = weakest_cut(net, some, post)
        best = max(best, (rate, "cut"))
        found.append(inside)
    if len(by_post) > 1:
        best = max(best, by_sets(net, blocks, found))
    return best


def weakest_cut(net, blocks, sinks):
    """The largest D / c(S) for chunks that all have these destinations, and S."""
    source = net.nodes + len(blocks)
    total = sum(blocks.values())
    slack, inside = None, None  # c(S) / D
    for sink in sorted(sinks):
        while True:
            wanted = {key: count for key, count in blocks.items() if sink not in key[0]}
            total = sum(wanted.values())
            if not total:
                break
            if slack is None:
                slack = Fraction(sum(width for (_, b), width in net.arcs.items() if b == sink) + 1, total)
            p, q = slack.numerator, slack.denominator
            arcs = [(a, b, width * q) for (a, b), width in net.arcs.items()]
            for i, ((pre, _), count) in enumerate(wanted.items()):
                arcs.append((source, net.nodes + i, count * p))
                arcs += [(net.nodes + i, n, count * p) for n in pre]
            flow = networks.Flow(source + 1, arcs)
            if flow.most(source, sink) >= total * p:
                break
            side = flow.side
            cut = sum(width for (a, b), width in net.arcs.items() if side[a] >= 0 > side[b])
            inside = {n for n in range(net.ranks) if side[n] >= 0}
            slack = Fraction(cut, sum(count for (pre, _), count in wanted.items() if pre <= inside))
    return 1 / slack, inside


def leaving(blocks, inside):
    """Blocks that lie in these ranks only and are wanted outside."""
    return sum(count for (pre, post), count in blocks.items() if pre <= inside and not post <= inside)


def by_sets(net, blocks, more=()):
    """Cuts of rank sets that are found by adding and removing ranks, from what the question names and from
    balls of hops."""
    every = frozenset(range(net.ranks))
    starts = (
        {frozenset([n]) for n in every}
        | {every - {n} for n in every}
        | {frozenset(each) for each in more if each}
    )
    starts |= {side for pre, post in blocks for side in (post, every - post)}
    for n in every:
        hops = net.hops(n)
        starts |= {frozenset(m for m in every if hops[m] <= far) for far in set(hops)}
    rng, asked, known = random.Random("by_sets"), [0], {}

    def worth(inside):
        if inside not in known:
            out = leaving(blocks, inside) if inside and inside != every else 0
            asked[0] += bool(out)
            known[inside] = Fraction(out, networks.crossing(net, inside)) if out else Fraction(0)
        return known[inside]

    wanted = sorted(starts - {frozenset(), every}, key=lambda s: (len(s), sorted(s)))
    ranked = sorted(wanted, key=worth, reverse=True)
    for best in ranked[:3]:
        limit, better = asked[0] + MOVES, True
        while better and asked[0] < limit:
            better = False
            for n in rng.sample(range(net.ranks), net.ranks):
                if worth(best ^ {n}) > worth(best):
                    best, better = best ^ {n}, True
    return max(known.values(), default=Fraction(0)), "cut"


def priced(net, blocks):
    """What the best prices of arcs show, and the rounds of the flow that was found with them. Amounts move
    from the most expensive path of a chunk to the cheapest one, as far as the sum of exp(sharp load / width)
    falls; prices are its derivative. As the gap between both narrows it is made sharper."""
    arcs = [(a, b, width) for (a, b), width in net.arcs.items()]
    widths = [width for _, _, width in arcs]
    onward = [[] for _ in range(net.nodes)]
    for i, (a, b, _) in enumerate(arcs):
        onward[a].append((i, b))
    wants = collections.defaultdict(collections.Counter)
    for (pre, post), count in blocks.items():
        wants[pre][min(post - pre)] += count

    def cheapest(price, pre):
        """By node: the price of the cheapest path there, and its last arc."""
        far, came = [math.inf] * net.nodes, [None] * net.nodes
        heap = [(0, n) for n in sorted(pre)]
        for n in pre:
            far[n] = 0
        while heap:
            d, a = heapq.heappop(heap)
            if d > far[a]:
                continue
            for i, b in onward[a]:
                if d + price[i] < far[b]:
                    far[b], came[b] = d + price[i], i
                    heapq.heappush(heap, (far[b], b))
        return far, came

    def route(came, n):
        found = []
        while came[n] is not None:
            found.append(came[n])
            n = arcs[came[n]][0]
        return tuple(found)

    def owed(price):
        total = 0
        for pre, counts in wants.items():
            far, _ = cheapest(price, pre)
            total += sum(far[n] * count for n, count in counts.items())
        return total

    def paid(price):
        return sum(p * width for p, width in zip(price, widths))

    routes, x = {}, [0.0] * len(arcs)  # amounts by path, of each source and destination; load by arc
    for pre, counts in wants.items():
        _, came = cheapest([1 / width for width in widths], pre)
        for n, count in counts.items():
            routes[pre, n] = {route(came, n): float(count)}
            for i in route(came, n):
                x[i] += count
    best, kept, flow = 0.0, None, math.inf
    for price in ([1.0] * len(arcs), [1 / width for width in widths]):
        best, kept = max((best, kept), (owed(price) / paid(price), price))
    sharp, mean = 20.0, [0.0] * len(arcs)
    for k in range(SWEEPS):
        worst = max(u / width for u, width in zip(x, widths))
        flow = min(flow, worst)
        if flow <= ENOUGH * best:
            break
        sharp = max(sharp, min(4000, SHARP * math.log(len(arcs)) / (flow / best - 1)))
        scale = sharp / worst

        def derivative(i):
            return math.exp(max(-30, min(scale * (x[i] / widths[i] - worst), 30))) / widths[i]

        price = [derivative(i) for i in range(len(arcs))]
        for pre, counts in wants.items():
            _, came = cheapest(price, pre)
            for n in counts:
                some = routes[pre, n]
                new = route(came, n)
                some.setdefault(new, 0.0)
                if len(some) == 1:
                    continue
                cost = {each: sum(price[i] for i in each) for each in some}
                low = min(some, key=cost.get)
                for high in sorted(some, key=cost.get, reverse=True)[:2]:
                    gain = cost[high] - cost[low]
                    if high == low or gain <= 1e-9 * cost[high]:
                        continue
                    differ = set(high) ^ set(low)
                    bend = scale * sum(price[i] / widths[i] for i in differ)
                    by = min(some[high], gain / bend, CAP * min(widths[i] for i in differ) / scale)
                    some[high] -= by
                    some[low] += by
                    for i in high:
                        x[i] -= by
                    for i in low:
                        x[i] += by
                    for i in differ:
                        price[i] = derivative(i)
                    if some[high] <= 1e-12:
                        del some[high]
        price = [derivative(i) for i in range(len(arcs))]
        pays = paid(price)
        mean = [0.7 * m + 0.3 * p / pays for m, p in zip(mean, price)]
        for some in (price, mean):
            best, kept = max((best, kept), (owed(some) / paid(some), list(some)))
    top = max(kept)  # rounded to whole numbers of which the largest is ten million, and summed up exactly
    whole = [round(p / top * 10_000_000) for p in kept]
    return Fraction(owed(whole), paid(whole)), flow


def of_sums(net, blocks):
    blocks = {key: count for key, count in blocks.items() if len(key[0] | key[1]) > 1}
    if not blocks:
        return Fraction(0), "nothing moves"
    best = (Fraction(0), "cut")
    for (pre, post), count in blocks.items():
        # Some rank of pre is in S and some of post is not: one end is pre's first, or both are other ranks.
        first = min(pre)
        pairs = {(first, d) for d in post if d != first} | (
            {(s, first) for s in pre if s != first}
            if first in post
            else {(s, d) for s in pre for d in post if s != d}
        )
        for s, d in sorted(pairs):
            best = max(best, (Fraction(count, networks.crossing(net, [s], [d])), "cut"))
    every = frozenset(range(net.ranks))
    for directed in (net, net.reversed()):
        mirrored = {(post, pre): count for (pre, post), count in blocks.items()}
        some = blocks if directed is net else mirrored
        if set(blocks) == {(every, every)}:
            rate = weakest_partition(directed) * blocks[every, every]
        else:
            rate = by_moving(directed, some)
        best = max(best, (rate, "partition"))
        one_way = any(net.arcs.get((b, a)) != width for (a, b), width in net.arcs.items())
        if set(blocks) == {(every, every)} and net.nodes == net.ranks and one_way:
            best = max(best, (gossip(directed) * blocks[every, every], "gossip"))
    return best


def gossip(net):
    """What the best prices that are found show of a sum of all ranks that all need; without switches."""
    arcs, load = sorted(net.arcs), collections.Counter()

    def cheapest(price):
        """(cost, arcs): a tree into a rank, and an arc into each other. A rank before all has an arc to each
        that may be the first, too expensive for two to be used, less what that one is not entered over."""
        into = {n: min((price[arc], arc) for arc in arcs if arc[1] == n) for n in range(net.ranks)}
        dear = 1 + 2 * net.ranks * max(price.values())
        back = [(b, a, price[a, b], (a, b)) for a, b in arcs]
        back += [(net.ranks, r, dear - into[r][0], None) for r in range(net.ranks)]
        tree = arborescence(net.ranks, back)
        first = next(n for n, arc in tree.items() if arc is None)
        used = [arc for arc in tree.values() if arc] + [into[n][1] for n in into if n != first]
        return sum(price[arc] for arc in used), used

    best, mean = Fraction(0), dict.fromkeys(arcs, 0.0)
    price = {arc: 1 / net.arcs[arc] for arc in arcs}
    for k in range(1, GOSSIPS + 1):
        for arc in cheapest(price)[1]:
            load[arc] += 1 / net.arcs[arc]
        most = max(load.values())
        price = {arc: math.exp(60 * (load[arc] / most - 1)) / net.arcs[arc] for arc in arcs}
        paid = sum(price[arc] * net.arcs[arc] for arc in arcs)
        mean = {arc: 0.95 * mean[arc] + 0.05 * price[arc] / paid for arc in arcs}
        if k % 100 == 0:
            top = max(mean.values())
            whole = {arc: round(p / top * 1_000_000) for arc, p in mean.items()}
            best = max(best, Fraction(cheapest(whole)[0], sum(whole[arc] * net.arcs[arc] for arc in arcs)))
    return best


def arborescence(root, arcs):
    """The name of the last arc to each node but the root, of arcs (from, to, cost, name): together they reach
    all from the root at the least cost (Chu and Liu 1965; Edmonds 1967). All can be reached."""
    lowest = {}
    for i, (a, b, cost, _) in enumerate(arcs):
        if b not in (root, a) and (b not in lowest or cost < arcs[lowest[b]][2]):
            lowest[b] = i
    seen, cycle = {root: root}, []
    for start in lowest:
        walk, n = [], start
        while n not in seen:
            seen[n] = start
            walk.append(n)
            n = arcs[lowest[n]][0]
        if n != root and seen[n] == start and n in walk:
            cycle = walk[walk.index(n) :]
            break
    if not cycle:
        return {n: arcs[i][3] for n, i in lowest.items()}
    inside, whole = set(cycle), ("cycle", cycle[0], len(lowest))
    fewer = []  # named by what they were
    for i, (a, b, cost, _) in enumerate(arcs):
        if a in inside and b in inside:
            continue
        less = arcs[lowest[b]][2] if b in inside else 0
        fewer.append((whole if a in inside else a, whole if b in inside else b, cost - less, i))
    chosen = arborescence(root, fewer)
    return {n: arcs[lowest[n]][3] for n in cycle} | {arcs[i][1]: arcs[i][3] for i in chosen.values()}


def crossings(blocks, parts):
    """How often all blocks of data cross between these parts, at least."""
    count = 0
    for (pre, post), amount in blocks.items():
        has = [bool(part & pre) for part in parts]
        wants = [bool(part & post) for part in parts]
        both = any(a and b for a, b in zip(has, wants))
        count += amount * (sum(has) + sum(wants) - (2 if both else 1))
    return count


def weakest_partition(net):
    """The largest 2 (k - 1) / sum of c(part), over all partitions of all ranks in k parts."""
    parts = [frozenset([n]) for n in range(net.ranks)]
    best = None  # sum of c(part) / (k - 1)
    while True:
        value = Fraction(sum(networks.crossing(net, part) for part in parts), len(parts) - 1)
        if best is not None and value >= best:
            return 2 / best
        best = value
        parts = truncation(net, best)
        if len(parts) == 1:
            return 2 / best


def truncation(net, x):
    """A partition of least sum of c(part) - x: Dilworth's truncation. Rank by rank, y(n) is the least of
    c(S) - x - y(S without n) over the sets S of n and ranks before it; sets that attain it merge."""
    p, q = x.numerator, x.denominator
    y, parts = [], []
    source, sink = net.nodes, net.nodes + 1
    arcs = [(a, b, width * q) for (a, b), width in net.arcs.items()]
    ample = sum(width for _, _, width in arcs) * 4 + p * net.ranks + 1
    for n in range(net.ranks):
        ends = [(source, n, ample)] + [(m, sink, ample) for m in range(n + 1, net.ranks)]
        ends += [(source, m, y[m]) if y[m] > 0 else (m, sink, -y[m]) for m in range(n) if y[m]]
        flow = networks.Flow(net.nodes + 2, arcs + ends)
        value = flow.most(source, sink) - sum(y[m] for m in range(n) if y[m] > 0)
        inside = {m for m in range(n + 1) if flow.side[m] >= 0}
        y.append(value - p)
        met = [part for part in parts if part & inside]
        parts = [part for part in parts if not part & inside] + [frozenset(inside).union(*met)]
    return parts


def by_moving(net, blocks):
    """Partitions for sums of some ranks: singles, balls around those who want a sum, and those with ranks
    moved."""
    terminals = sorted(set().union(*(pre | post for pre, post in blocks)))
    known, asked, rng = {}, [0], random.Random("by_moving")

    def out(part):
        if part not in known:
            asked[0] += 1
            known[part] = networks.crossing(net, part) if len(part) < net.ranks else 0
        return known[part]

    def worth(parts):
        total = sum(map(out, parts))
        return Fraction(crossings(blocks, parts), total) if total else Fraction(0)

    hops = [net.hops(n) for n in range(net.ranks)]
    groups = sorted({pre | post for pre, post in blocks}, key=sorted)
    centres = [
        [frozenset([t]) for t in terminals],
        groups if len(groups) > 1 and not frozenset.intersection(*groups) else [],
    ]
    best, value = None, Fraction(0)
    for some in centres:
        if not some:
            continue
        near = [
            min(range(len(some)), key=lambda i: (min(hops[t][n] for t in some[i]), i))
            for n in range(net.ranks)
        ]
        start = [frozenset(n for n in range(net.ranks) if near[n] == i) for i in range(len(some))]
        parts = moved([part for part in start if part], worth, rng, asked, net.ranks)
        if worth(parts) > value:
            best, value = parts, worth(parts)
    return value


def moved(parts, worth, rng, asked, ranks):
    limit, better = asked[0] + 4 * MOVES, True
    while better and asked[0] < limit:
        better = False
        for a, b in [
            (a, b) for a in list(parts) for b in list(parts) if a != b and len(parts) > 2
        ]:  # parts that join
            if a in parts and b in parts and asked[0] < limit:
                joined = [part for part in parts if part not in (a, b)] + [a | b]
                if len(joined) > 1 and worth(joined) > worth(parts):
                    parts, better = joined, True
        for n in rng.sample(range(ranks), ranks):  # ranks that go over
            home = next(part for part in parts if n in part)
            for part in list(parts):
                if part == home or part not in parts or len(home) == 1 or asked[0] >= limit:
                    continue
                other = [each for each in parts if each not in (home, part)] + [home - {n}, part | {n}]
                if worth(other) > worth(parts):
                    parts, better = other, True
                    break
    return parts
