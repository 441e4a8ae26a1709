"""Ways to change a genuine result file into another: most say something false then. What is false,
verifier.py states, but for what is false by how it was made.

A forgery is a function of a result (its own copy, to be changed) and a random.Random. It returns True if it
changed something, FALSE if what it changed is false whatever the verifier can tell, and None if there is
nothing to change.
"""

import random_input

FALSE = "false"


def one(rng, items):
    items = list(items)
    return rng.choice(items) if items else None


def nudge(rng, holder, key, least=0):
    """Another number, near."""
    old = holder[key]
    new = one(rng, [old + d for d in (-2, -1, -1, 1, 1, 2) if old + d >= least])
    holder[key] = new
    return True


def other(rng, holder, key, choices):
    holder[key] = one(rng, [c for c in choices if c != holder[key]])
    return True


def remove_point(result, rng):
    return one(rng, range(len(result["points"]))) is not None and bool(result["points"].pop(rng.randrange(len(result["points"])))) or None


def remove_points(result, rng):
    if not result["points"]:
        return None
    result["points"].clear()
    if rng.random() < 0.5:
        result["claims"].clear()
    return True


def remove_claim(result, rng):
    return bool(result["claims"].pop(rng.randrange(len(result["claims"])))) if result["claims"] else None


def remove_claims(result, rng):
    if not result["claims"]:
        return None
    result["claims"].clear()
    return True


def cost_of_a_point(result, rng):
    p = one(rng, result["points"])
    return p and nudge(rng, p, rng.choice(["steps", "rounds", "chunks"]), 0)


def copy_of_a_point(result, rng):
    """Again, or worse by an idle step or round."""
    p = one(rng, result["points"])
    if p is None:
        return None
    copy = {**p, "schedule": [dict(step) for step in p["schedule"]]}
    kind = rng.choice(["same", "step", "round"])
    if kind == "step":
        copy["schedule"].append({"rounds": 1, "sends": []})
        copy["steps"] += 1
        copy["rounds"] += 1
    elif kind == "round" and copy["schedule"]:
        more = rng.choice([1, 2, 70])
        copy["schedule"][-1]["rounds"] += more
        copy["rounds"] += more
    copy["on_frontier"], copy["proven"] = rng.random() < 0.5, rng.random() < 0.5
    at = result["points"].index(p)
    result["points"][at:at + rng.randint(0, 1)] = [copy]
    return True


def flag(result, rng):
    p = one(rng, result["points"])
    key = rng.choice(["complete", "proven", "on_frontier"])
    holder = result if key == "complete" or p is None else p
    key = key if holder is p else "complete"
    holder[key] = not holder[key]
    return True


def all_flags(result, rng):
    result["complete"] = True
    for p in result["points"]:
        p["proven"] = True
    return True


def space(result, rng):
    """Another space."""
    at = result.get("space", result)
    key = rng.choice([key for key in ("min_chunks", "max_chunks", "max_steps", "max_rounds", "extra_rounds") if key in at])
    if key.endswith("_chunks"):
        if at[key] is None or key == "max_chunks" and rng.random() < 0.2:
            return other(rng, at, key, [None, 1, 2, 3, 8])
        return nudge(rng, at, key, 1)
    nothing = None if "space" in result else -1
    return other(rng, at, key, [nothing, 0, 1, 2, 3] + ([at[key] - 1, at[key] + 1] if at[key] not in (None, -1, 0) else []))


def words(result, rng):
    p = one(rng, result["points"])
    if p is None or rng.random() < 0.4:
        key = rng.choice(["kind", "stopped"])
        return other(rng, result, key, {"kind": ["frontier", "synthesis", "algorithm", "bananas"],
                                        "stopped": ["", "time limit", "interrupted", "conflict limit", "memory limit", "proven by divine revelation"]}[key])
    return other(rng, p, "method", ["direct", "dual", "reduce_scatter+allgather", "gather+local_reduce", "divine revelation", ""])


def chunk_counts(result, rng):
    """To which the result is complete, or of which a claim speaks."""
    claim = one(rng, result["claims"])
    if claim is not None and rng.random() < 0.6:
        claim["any_chunks"] = not claim.get("any_chunks", False)
        return True
    if "complete_chunks" not in result:
        return None
    return other(rng, result, "complete_chunks", [None, 0, 1, 2, 3, 64])


def limits(result, rng):
    if "limits" not in result:
        return None
    key = one(rng, sorted(result["limits"]))
    return other(rng, result["limits"], key, [None, 0, 1, 1000])


def bound_of_a_point(result, rng):
    """Of what is left open, too: [rounds, chunks], and the gap to it."""
    p = one(rng, [p for p in result["points"] + result.get("openings", []) if "bound" in p])
    if p is None:
        return None
    if "gap" in p and rng.random() < 0.3:
        return other(rng, p, "gap", [0, 0.5, None])
    p["bound"] = rng.choice([[n, c] for n in (None, 0, 1, 2, 3, 7) for c in (1, 2)])
    if "gap" in p and p["bound"][0] and rng.random() < 0.7:
        p["gap"] = float(f"{p['rounds'] * p['bound'][1] / p['chunks'] / p['bound'][0] - 1:.6g}")
    return True


def openings(result, rng):
    left = result.get("openings")
    if left and rng.random() < 0.6:
        del left[rng.randrange(len(left))]
    elif left:
        return nudge(rng, rng.choice(left), "steps")
    elif left is not None:
        left.append({"steps": rng.randint(0, 5), "found": rng.choice([None, [2, 1]]), "bound": [1, 1]})
    return left is not None or None


def stronger_claim(result, rng):
    claim = one(rng, result["claims"])
    if claim is None:
        return None
    key = rng.choice(["rounds", "rounds", "steps", "chunks"])
    if key == "chunks":
        return nudge(rng, claim, key, 1)
    if claim[key] is None:
        claim[key] = rng.randint(0, 9)
    elif rng.random() < 0.2:
        claim[key] = None
    else:
        claim[key] += rng.choice([1, 1, 2, 5])
    return True


def more_claims(result, rng):
    """One that shows nothing, or not what it states."""
    claim = one(rng, result["claims"])
    if claim is None:
        return None
    copy = {**claim, "certificate": dict(claim["certificate"])}
    kind = rng.choice(["again", "none", "steps", "chunks", "collective"])
    if kind == "none":
        copy["certificate"] = {"kind": "none"}
    elif kind == "steps":
        copy["steps"] = None if copy["steps"] is not None else 3
    elif kind == "chunks":
        copy["chunks"] += 1
    elif kind == "collective":
        copy["collective"] = rng.choice(["allgather", "reducescatter", "allreduce", "broadcast", "custom"])
    result["claims"].append(copy)
    return True


def certificate(result, rng):
    claim = one(rng, result["claims"])
    if claim is None:
        return None
    shown = claim["certificate"]
    if shown["kind"] in ("distance", "growth"):
        return nudge(rng, shown, rng.choice([key for key in ("chunk", "rank") if key in shown]))
    if shown["kind"] == "refutation":
        key = rng.choice(["formula_sha256", "formula_sha256"] + ["engine"] * ("engine" in shown))
        if key == "engine":
            return other(rng, shown, key, ["sat", "smt", "sat-partition", "god"])
        digits = shown[key]
        at = rng.randrange(len(digits))
        shown[key] = digits[:at] + rng.choice([d for d in "0123456789abcdef" if d != digits[at]]) + digits[at + 1:]
        return FALSE
    if shown["kind"] == "cuts" and rng.random() < 0.5:
        cut = one(rng, shown["cuts"])
        return cut and (nudge(rng, cut, "price") if rng.random() < 0.5 else nudge(rng, cut["until"], rng.randrange(len(cut["until"]))))
    if shown["kind"] in ("partition", "entries") and rng.random() < 0.5:
        return other(rng, shown["group"], rng.randrange(len(shown["group"])), range(len(shown["group"])))
    prices = one(rng, shown.get("prices", []))
    numbers = prices and prices[rng.choice([key for key in ("links", "limits") if prices[key]])]
    return numbers and nudge(rng, numbers, rng.randrange(len(numbers)))


def swap_schedules(result, rng):
    if len(result["points"]) < 2:
        return None
    a, b = rng.sample(result["points"], 2)
    a["schedule"], b["schedule"] = b["schedule"], a["schedule"]
    return True


def schedule(result, rng):
    p = one(rng, [p for p in result["points"] if p["schedule"]])
    if p is None:
        return None
    steps = p["schedule"]
    step = rng.choice(steps)
    kind = rng.choice(["remove", "double", "send", "plus", "rounds", "rounds and cost", "order"])
    if kind == "order":
        if len(steps) < 2:
            return None
        a, b = rng.sample(range(len(steps)), 2)
        steps[a], steps[b] = steps[b], steps[a]
        return True
    if kind.startswith("rounds"):
        old = step["rounds"]
        nudge(rng, step, "rounds", 1)
        if kind.endswith("cost"):
            p["rounds"] += step["rounds"] - old
        return True
    if not step["sends"]:
        return None
    at = rng.randrange(len(step["sends"]))
    send = step["sends"][at]
    if kind == "remove":
        del step["sends"][at]
    elif kind == "double":
        rng.choice(steps)["sends"].append(list(send))
    elif kind == "plus":
        step["sends"][at] = send[:4] if send[4:] else send + ["+"]
    else:
        key = rng.choice([0, 3])
        nudge(rng, send, key)
        if key == 3 and send[3] < len(result["topology"]["links"]):
            link = result["topology"]["links"][send[3]]
            send[1:3] = [link["src"], link["dst"]]
    return True


def machine(result, rng):
    topology = result["topology"]
    kind = rng.choice(["bandwidth", "bandwidth", "limit", "link", "ranks"])
    if kind == "bandwidth" and topology["links"]:
        return nudge(rng, rng.choice(topology["links"]), "bandwidth", 1)
    if kind == "limit":
        limits_ = topology.setdefault("limits", [])
        if limits_ and rng.random() < 0.3:
            limit = rng.choice(limits_)
            ability = rng.choice(["multicast", "reduce"])
            limit[ability] = not limit.get(ability, False)
            return True
        if limits_ and rng.random() < 0.7:
            return nudge(rng, rng.choice(limits_), "bandwidth", 1)
        if not topology["links"]:
            return None
        limits_.append({"name": "forged", "links": sorted(rng.sample(range(len(topology["links"])), rng.randint(1, len(topology["links"])))), "bandwidth": 1})
        return True
    if kind == "link" and topology["ranks"] > 1:
        a, b = rng.sample(range(topology["ranks"]), 2)
        topology["links"].append({"src": a, "dst": b, "bandwidth": 1})
        return True
    return nudge(rng, topology, "ranks", 1)


def communication(result, rng):
    asked = result["collective"]
    if isinstance(asked.get("chunks", 1), int):
        key = rng.choice(["collective", "root"])
        if key == "root":
            return nudge(rng, asked, "root") if "root" in asked and asked["collective"] in ("broadcast", "scatter", "gather", "reduce") else None
        return other(rng, asked, key, ["allgather", "alltoall", "reducescatter", "allreduce", "broadcast"])
    chunk = rng.choice(asked["chunks"])
    key = rng.choice(["pre", "post"])
    n = rng.randrange(result["topology"]["ranks"])
    changed = sorted(set(chunk[key]) ^ {n})
    if not changed:
        return None
    chunk[key] = changed
    if rng.random() < 0.5:  # in the points, too
        at = asked["chunks"].index(chunk)
        for p in result["points"]:
            pieces = len(p["does"]["chunks"]) // len(asked["chunks"])
            for each in p["does"]["chunks"][at * pieces:(at + 1) * pieces]:
                each[key] = changed
    return True


def order_of_sums(result, rng):
    """In the question and in what its points do."""
    asked = result["collective"]
    if asked["collective"] not in ("reduce", "reducescatter", "allreduce") and not asked.get("combining"):
        return None
    order = one(rng, [order for order in ("agreed", "free", random_input.tree(rng, range(result["topology"]["ranks"]))) if order != asked.get("order", "agreed")])
    for each in [asked, *(p["does"] for p in result["points"])]:
        each["order"] = order
    for p in result["points"]:  # these follow from the order
        for step in p["schedule"]:
            step.pop("sums", None)
    return True


def way(result, rng):
    """A way, or the machine that it goes through."""
    topology = result["topology"]
    below = topology.get("underlay")
    if below is None or not topology["ways"]:
        return None
    kind = rng.choice(["way", "way", "exchange", "remove", "wire", "wire", "limit", "ability", "time", "link", "ranks"])
    taken = topology["ways"]
    if kind == "way":
        at = rng.randrange(len(taken))
        i = rng.randrange(len(taken[at]))
        return other(rng, taken[at], i, range(-1, len(below["links"]) + 1))
    if kind == "exchange":
        if len(taken) < 2:
            return None
        a, b = rng.sample(range(len(taken)), 2)
        taken[a], taken[b] = taken[b], taken[a]
        return True
    if kind == "remove":
        holder = rng.choice([taken, rng.choice(taken), below["links"]])
        holder.pop()
        return True
    if kind == "wire":
        return nudge(rng, rng.choice(below["links"]), rng.choice(["bandwidth", "src", "dst"]))
    if kind == "limit":
        below.setdefault("limits", []).append({"name": "forged", "bandwidth": rng.randint(1, 2), "links":
                                               sorted(rng.sample(range(len(below["links"])), rng.randint(1, min(3, len(below["links"])))))})
        return True
    if kind == "ability":
        if rng.random() < 0.5 and topology.get("limits"):
            rng.choice(topology["limits"])[rng.choice(["multicast", "reduce"])] = True
        else:
            below[rng.choice(["multicast", "reduce"])] = [0]
        return True
    if kind == "time":
        rng.choice(rng.choice([topology, below])["links"])[rng.choice(["alpha_us", "beta_us_per_byte"])] = rng.choice([0.125, 7])
        return True
    if kind == "link":
        return nudge(rng, rng.choice(topology["links"]), rng.choice(["bandwidth", "src", "dst"]))
    return nudge(rng, below, rng.choice(["ranks", "switches"]))


ALL = [remove_point, remove_point, remove_points, remove_claim, remove_claim, remove_claims, cost_of_a_point, copy_of_a_point, copy_of_a_point, flag,
       all_flags, space, space, space, chunk_counts, chunk_counts, words, limits, bound_of_a_point, openings, stronger_claim, stronger_claim, more_claims, certificate, certificate,
       certificate, swap_schedules, schedule, schedule, machine, communication, order_of_sums]
WAYS = ALL + [way] * len(ALL)
