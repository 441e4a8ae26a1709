"""Random machines, communications and options: what stands at the commands. Everything comes from the
random.Random that is given."""


def flip(rng, chance):
    return rng.random() < chance


def subset(rng, items, least=1, most=None):
    items = list(items)
    return sorted(rng.sample(items, rng.randint(least, min(most or len(items), len(items)))))


def shape(rng, n):
    """Pairs (a, b) of a known graph on n nodes, each meaning in both directions."""
    kind = rng.choice(["ring", "line", "star", "full", "grid", "tree", "bars"])
    if kind == "full":
        return [(a, b) for a in range(n) for b in range(a)]
    if kind == "star":
        return [(0, b) for b in range(1, n)]
    if kind == "tree":
        return [(rng.randrange(b), b) for b in range(1, n)]
    if kind == "grid":
        return [(a, a + 1) for a in range(n - 1) if a % 2 == 0] + [(a, a + 2) for a in range(n - 2)]
    row = [(a, a + 1) for a in range(n - 1)]
    if kind == "bars":
        return row + [(a, n - 1 - a) for a in range(n // 2 - 1)]
    return row + ([(n - 1, 0)] if kind == "ring" and n > 2 else [])


def links_of(rng, n, tiny):
    """Directed links on nodes 0 .. n-1; mostly strongly connected."""
    kind = rng.choice(["shape", "shape", "failed", "one way", "random"])
    if kind in ("shape", "failed"):
        ways = [way for a, b in shape(rng, n) for way in ((a, b), (b, a))]
        if kind == "failed":
            rng.shuffle(ways)
            del ways[:rng.randint(1, 2)]
    elif kind == "one way":
        order = rng.sample(range(n), n)
        ways = list(zip(order, order[1:] + order[:1]))
        ways += [tuple(rng.sample(range(n), 2)) for _ in range(rng.randint(0, 2 if tiny else n))]
    else:
        ways = [way for way in ((a, b) for a in range(n) for b in range(n) if a != b) if flip(rng, 0.5)]
    if flip(rng, 0.15) and ways:
        ways.append(rng.choice(ways))  # a parallel link
    uneven = flip(rng, 0.4)
    return [{"src": a, "dst": b, "bandwidth": rng.choice([1, 1, 2, 3]) if uneven else 1} for a, b in ways]


def machine(rng, tiny=False):
    """A name, or what a machine's file states."""
    if flip(rng, 0.25):
        small = ["ring:2", "ring:3", "ring:4", "line:2", "line:3", "line:4", "full:3", "full:4", "hub:3", "hub:4", "star:3", "star:4",
                 "mesh:2x2", "hypercube:2"]
        large = ["ring:5", "ring:6", "ring:7", "line:5", "full:5", "hub:5", "hub:6", "star:5", "star:7", "mesh:2x3", "mesh:3x3", "hypercube:3",
                 "torus:2x3", "torus:3x3", "dgx1", "amd-z52"]
        return rng.choice(small if tiny else small + large)
    ranks = rng.choice([2, 3, 3, 3, 4]) if tiny else rng.choice([2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 8, 9])
    text = {"topology": "random", "ranks": ranks}
    switched = flip(rng, 0.15)
    if switched:
        text["switches"] = switches = rng.randint(1, 2)
        links = []
        for n in range(ranks):
            at = ranks + rng.randrange(switches)
            width = rng.choice([1, 1, 2])
            links += [{"src": n, "dst": at, "bandwidth": width}, {"src": at, "dst": n, "bandwidth": width}]
        if switches == 2:
            links += [{"src": ranks, "dst": ranks + 1, "bandwidth": 2}, {"src": ranks + 1, "dst": ranks, "bandwidth": rng.choice([1, 2])}]
        if flip(rng, 0.4) and ranks > 1:
            a, b = rng.sample(range(ranks), 2)
            links += [{"src": a, "dst": b}]
        text["links"] = links
        for ability in ("multicast", "reduce"):
            if flip(rng, 0.25):
                text[ability] = subset(rng, range(switches))
    else:
        text["links"] = links_of(rng, ranks, tiny)
    if text["links"] and not switched and flip(rng, 0.3):
        text["limits"] = [{"name": f"limit {i}", "links": subset(rng, range(len(text["links"]))), "bandwidth": rng.randint(1, 3)}
                          for i in range(rng.randint(1, 2))]
        for limit in text["limits"]:
            for ability in ("multicast", "reduce"):
                if flip(rng, 0.25):
                    limit[ability] = True
    if flip(rng, 0.2):
        text["alpha_us"] = rng.choice([0, 0.5, 3])
    return text


def mixed(rng):
    """A tiny machine; mostly its links differ in latency or rate, and sometimes it has one rank."""
    if flip(rng, 0.03):
        return {"topology": "alone", "ranks": 1, "links": []}
    made = machine(rng, tiny=True)
    if flip(rng, 0.4):  # what is slow can be avoided
        ranks = rng.choice([3, 3, 4])
        made = {"topology": "pairs", "ranks": ranks, "links": [{"src": a, "dst": b} for a in range(ranks) for b in range(ranks) if a != b and flip(rng, 0.9)]}
    elif isinstance(made, str) or flip(rng, 0.2):
        return made
    made.pop("alpha_us", None)
    spread = rng.choice([1.1, 2, 10, 100])
    for key, usual in rng.choice([[("alpha_us", 1)], [("beta_us_per_byte", 4e-5)], [("alpha_us", 1), ("beta_us_per_byte", 4e-5)]]):
        values = [usual, usual * spread, *([0] if key == "alpha_us" and flip(rng, 0.1) else [])]
        for link in made["links"]:
            link[key] = rng.choice(values)
    return made


def switched(rng, ranks, most_switches=3):
    """A machine whose switches, in a tree with a cable more or less, stand between all ranks; some ranks have
    two cables."""
    switches = rng.randint(1, most_switches)
    wires = []

    def cable(a, b):
        for src, dst in ((a, b), (b, a)):
            wires.append({"src": src, "dst": dst, "bandwidth": rng.choice([1, 1, 1, 2])})
            if flip(rng, 0.2):
                wires[-1] |= {"alpha_us": rng.choice([0.25, 2]), "beta_us_per_byte": rng.choice([1e-5, 4e-5])}
    for n in range(ranks):
        for at in rng.sample(range(switches), 2 if switches > 1 and flip(rng, 0.25) else 1):
            cable(n, ranks + at)
    for at in range(1, switches):
        cable(ranks + rng.randrange(at), ranks + at)
    if switches > 2 and flip(rng, 0.3):
        cable(*(ranks + at for at in rng.sample(range(switches), 2)))
    if flip(rng, 0.15) and ranks > 1:
        cable(*rng.sample(range(ranks), 2))
    if flip(rng, 0.15):
        wires.pop(rng.randrange(len(wires)))
    return {"topology": "switched", "ranks": ranks, "switches": switches, "links": wires}


def routes_through(machine):
    """All ways from rank to rank through switches alone, none of which is passed twice, each a list of
    links."""
    ranks, links = machine["ranks"], machine["links"]
    ways, going = [], [[l] for l, link in enumerate(links) if link["src"] < ranks]
    while going:
        way = going.pop()
        at = links[way[-1]]["dst"]
        if at < ranks:
            if at != links[way[0]]["src"]:
                ways.append(way)
            continue
        passed = {links[l]["dst"] for l in way}
        going += [way + [l] for l, link in enumerate(links) if link["src"] == at and link["dst"] not in passed]
    return sorted(ways)


def over_routes(rng, below, chosen):
    """The machine whose links are these routes through another one: as wide as their narrowest cable, with a
    limit for each cable of several."""
    wires = below["links"]
    time_of = lambda wire: (wire.get("alpha_us", below.get("alpha_us", 1)), wire.get("beta_us_per_byte", 4e-5))
    links = [{"src": wires[way[0]]["src"], "dst": wires[way[-1]]["dst"], "bandwidth": min(wires[w]["bandwidth"] for w in way),
              "alpha_us": sum(time_of(wires[w])[0] for w in way), "beta_us_per_byte": max(time_of(wires[w])[1] for w in way)} for way in chosen]
    limits = []
    for w, wire in enumerate(wires):
        over = [l for l, way in enumerate(chosen) if w in way]
        if len(over) > 1 or (over and flip(rng, 0.2)):
            limits.append({"name": f"cable {w}", "links": over, "bandwidth": wire["bandwidth"]})
    rng.shuffle(limits)
    return {"topology": "over ways", "ranks": below["ranks"], "links": links, "limits": limits, "underlay": below, "ways": chosen}


def chosen_ways(rng, ranks):
    """A machine with some of the routes through its switches, mostly as many as let each rank reach each."""
    below = switched(rng, ranks)
    every = routes_through(below)
    ends = lambda way: (below["links"][way[0]]["src"], below["links"][way[-1]]["dst"])
    by_ends = {}
    for way in rng.sample(every, len(every)):
        by_ends.setdefault(ends(way), []).append(way)
    chosen = [way for ways in by_ends.values() for way in ways[:1 if flip(rng, 0.7) else 2] if flip(rng, 0.95)]
    return over_routes(rng, below, chosen[:40])


def meshed_switches(rng):
    """This many ways that the program chooses: more than 100,000 through nine switches, each joined to
    each."""
    ranks = rng.choice([4, 5])
    wires = [{"src": a, "dst": b, "bandwidth": rng.choice([1, 2])} for a in range(ranks, ranks + 9) for b in range(ranks, ranks + 9) if a != b]
    for n, at in enumerate(rng.sample(range(ranks, ranks + 9), ranks)):
        wires += [{"src": n, "dst": at, "bandwidth": rng.choice([1, 2])}, {"src": at, "dst": n, "bandwidth": rng.choice([1, 2])}]
    return {"topology": "meshed switches", "ranks": ranks, "switches": 9, "links": wires}


def tree(rng, ranks):
    """A tree of sums in brackets over these ranks."""
    parts = [str(n) for n in rng.sample(list(ranks), len(ranks))]
    while len(parts) > 1:
        count = min(len(parts), rng.choice([2, 2, 2, 3]))
        parts = [f"({' '.join(parts[:count])})"] + parts[count:] if flip(rng, 0.4) else parts[count:] + [f"({' '.join(parts[:count])})"]
    return parts[0]


def ranks_of(named_or_text):
    if isinstance(named_or_text, dict):
        return named_or_text["ranks"]
    if named_or_text in ("dgx1", "amd-z52"):
        return 8
    kind, sizes = named_or_text.split(":")
    product = 1
    for size in sizes.split("x"):
        product *= int(size)
    return 2 ** product if kind == "hypercube" else product


NAMED = ["broadcast", "scatter", "gather", "allgather", "alltoall", "reduce", "reducescatter", "allreduce", "allreduce"]


def collective(rng, ranks, tiny=False):
    """(a name or what a collective's file states, root)"""
    if flip(rng, 0.5):
        name = rng.choice(NAMED)
        if ranks > 6 and name == "alltoall":
            name = "allgather"
        return name, (rng.randrange(ranks) if name in ("broadcast", "scatter", "gather", "reduce") and flip(rng, 0.7) else 0)
    every = range(ranks)
    combining = flip(rng, 0.5)
    kind = rng.choice(["any", "any", "any", "groups", "one", "nothing to do"])
    chunks = []
    for i in range(rng.randint(1, 2 if tiny else 4)):
        if kind == "groups":
            group = subset(rng, every, min(2, ranks))
            pre, post = (group if combining else [rng.choice(group)]), group
        elif kind == "one":
            pre, post = (subset(rng, every), [rng.choice(every)]) if combining else ([rng.choice(every)], subset(rng, every))
        elif kind == "nothing to do":
            pre = [rng.choice(every)] if combining else subset(rng, every)
            post = pre if combining else subset(rng, pre)
        else:
            pre, post = subset(rng, every, most=None if combining else 2), subset(rng, every)
        chunks.append({"pre": pre, "post": post, "input": i, "output": i})
    return {"collective": "custom", "combining": combining, "chunks": chunks}, 0


def reachable(links, ranks, n):
    """Ranks that n reaches, by pairs (src, dst)."""
    seen, front = {n}, [n]
    while front:
        front = [dst for src, dst in links for at in front if src == at and dst not in seen and not seen.add(dst)]
    return {m for m in seen if m < ranks}


def surely_possible(links, ranks, asked):
    """Does a schedule exist for a reason that a child would see? asked: (combining, [(pre, post), ...])."""
    combining, chunks = asked
    reach = [reachable(links, ranks, n) for n in range(ranks)]
    for pre, post in chunks:
        if combining:  # sum up at one rank, hand out from there
            if not any(all(r in reach[n] for n in pre) and set(post) <= reach[r] for r in range(ranks)):
                return False
        elif not set(post) <= set().union(*(reach[n] for n in pre)):
            return False
    return True


def frontier_options(rng, tiny=False):
    """The command line's options, and those that limit the space among them as a dictionary."""
    space = {}
    if flip(rng, 0.5):
        space["--max-chunks"] = rng.choice([1, 2, 2] if tiny else [1, 2, 2, 3, 4])
        if space["--max-chunks"] > 1 and flip(rng, 0.2):
            space["--min-chunks"] = rng.randint(1, space["--max-chunks"])
    if flip(rng, 0.35):
        space["--k"] = rng.choice([0, 0, 0, 1, 1, 2])
    if flip(rng, 0.25):
        space["--max-steps"] = rng.choice([1, 1, 2, 2, 3, 4])
    effort = []
    if flip(rng, 0.1):
        effort += ["--no-bounds"]
        space.setdefault("--max-chunks", 2)  # nothing else ends it
    if flip(rng, 0.15):
        effort += ["--no-symmetry"]
    if flip(rng, 0.15):
        effort += ["--jobs", "2"]
    if flip(rng, 0.15):
        effort += ["--seed", str(rng.randrange(1000))]
    return space, effort
