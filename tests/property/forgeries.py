"""Ways to change a genuine result file into another: most say something false then, which verdicts.py reports.

A forgery is a function of a result (its own copy, to be changed) and a random.Random. It returns the path of the
one field that it changed, () if it changed more, and None if there is nothing to change.
"""
from kit import alterations, random_input


def one(rng, items):
    items = list(items)
    return rng.choice(items) if items else None


def field(result, rng):
    path, name, new = alterations.one(result, rng)
    if name == "huge":
        return None  # the verifier counts up to it
    alterations.change(result, path, new)
    return path


def removed(result, rng):
    """A point or a claim, or all, or both."""
    key = rng.choice(["points", "claims"])
    if not result[key]:
        return None
    if rng.random() < 0.6:
        result[key].pop(rng.randrange(len(result[key])))
    else:
        result[key].clear()
        if rng.random() < 0.25:
            result["claims"].clear()
    return ()


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
    return ()


def all_flags(result, _):
    result["complete"] = True
    for p in result["points"]:
        p["proven"] = True
    return ()


def bound_of_a_point(result, rng):
    """With the gap to it; of what is left open, too."""
    p = one(rng, [p for p in result["points"] + result.get("openings", []) if "bound" in p])
    if p is None:
        return None
    p["bound"] = rng.choice([[n, c] for n in (None, 0, 1, 2, 3, 7) for c in (1, 2)])
    if "gap" in p and p["bound"][0]:
        p["gap"] = float(f"{p['rounds'] * p['bound'][1] / p['chunks'] / p['bound'][0] - 1:.6g}")
    return ()


def more_claims(result, rng):
    """One that shows nothing, or not what it states; or a stronger one."""
    claim = one(rng, result["claims"])
    if claim is None:
        return None
    copy = {**claim, "certificate": dict(claim["certificate"])}
    kind = rng.choice(["again", "none", "steps", "chunks", "collective", "stronger"])
    if kind == "none":
        copy["certificate"] = {"kind": "none"}
    elif kind == "steps":
        copy["steps"] = None if copy["steps"] is not None else 3
    elif kind == "chunks":
        copy["chunks"] += 1
    elif kind == "collective":
        copy["collective"] = rng.choice(["allgather", "reducescatter", "allreduce", "broadcast", "custom"])
    elif kind == "stronger":
        copy["rounds"] = (copy["rounds"] or 0) + rng.choice([1, 2, 5])
    result["claims"].append(copy)
    return ()


def digits(result, rng):
    """Of the formula that a refutation names."""
    shown = [(i, claim["certificate"]) for i, claim in enumerate(result["claims"]) if "formula_sha256" in claim["certificate"]]
    if not shown:
        return None
    i, certificate = rng.choice(shown)
    text = certificate["formula_sha256"]
    at = rng.randrange(len(text))
    certificate["formula_sha256"] = text[:at] + rng.choice([d for d in "0123456789abcdef" if d != text[at]]) + text[at + 1:]
    return "claims", i, "certificate", "formula_sha256"


def exchanged(result, rng):
    """Two schedules, two steps of one, or two routes."""
    of = rng.choice([(result["points"], "schedule"), (p["schedule"] if (p := one(rng, result["points"])) else [], None), (result["topology"].get("ways", []), None)])
    holder, key = of
    if len(holder) < 2:
        return None
    a, b = rng.sample(range(len(holder)), 2)
    if key:
        holder[a][key], holder[b][key] = holder[b][key], holder[a][key]
    else:
        holder[a], holder[b] = holder[b], holder[a]
    return ()


def send(result, rng):
    """One less, one twice, one that adds or does not, one over another link; or a step that is longer, with the
    cost that says so."""
    p = one(rng, [p for p in result["points"] if p["schedule"]])
    if p is None:
        return None
    step = rng.choice(p["schedule"])
    kind = rng.choice(["remove", "double", "plus", "link", "cost"])
    if kind == "cost" or not step["sends"]:
        step["rounds"] += 1
        p["rounds"] += 1
        return ()
    at = rng.randrange(len(step["sends"]))
    of = step["sends"][at]
    if kind == "remove":
        del step["sends"][at]
    elif kind == "double":
        rng.choice(p["schedule"])["sends"].append(list(of))
    elif kind == "plus":
        step["sends"][at] = of[:4] if of[4:] else of + ["+"]
    else:
        links = result["topology"]["links"]
        l = rng.randrange(len(links))
        of[1:4] = [links[l]["src"], links[l]["dst"], l]
    return ()


def machine(result, rng):
    """One that is narrower or wider: by a limit, what counts once in one, a bandwidth or a link."""
    topology = result["topology"]
    holder = rng.choice([topology, topology.get("underlay", topology)])
    links, kind = holder["links"], rng.choice(["limit", "ability", "bandwidth", "link"])
    if not links:
        return None
    if kind == "limit":
        holder.setdefault("limits", []).append({"name": "forged", "bandwidth": rng.randint(1, 2), "links": random_input.subset(rng, range(len(links)))})
    elif kind == "link":
        a, b = rng.sample(range(holder["ranks"]), 2)
        links.append({"src": a, "dst": b, "bandwidth": 1})
    elif kind == "ability" and holder.get("limits"):
        limit, ability = rng.choice(holder["limits"]), rng.choice(["multicast", "reduce"])
        limit[ability] = not limit.get(ability, False)
    else:
        each = rng.choice(rng.choice([links, holder.get("limits") or links]))
        each["bandwidth"] = max(1, each.get("bandwidth", 1) + rng.choice([-1, -1, 1, 2]))
    return ()


def communication(result, rng):
    """Who has a chunk, or needs it; half of the time in the points, too."""
    asked = result["collective"]
    if isinstance(asked.get("chunks", 1), int):
        return None  # a field, or more
    chunk, key = rng.choice(asked["chunks"]), rng.choice(["pre", "post"])
    changed = sorted(set(chunk[key]) ^ {rng.randrange(result["topology"]["ranks"])})
    if not changed:
        return None
    chunk[key] = changed
    if rng.random() < 0.5:
        at = asked["chunks"].index(chunk)
        for p in result["points"]:
            pieces = len(p["does"]["chunks"]) // len(asked["chunks"])
            for each in p["does"]["chunks"][at * pieces:(at + 1) * pieces]:
                each[key] = changed
    return ()


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
    return ()


ALL = [field] * 16 + [removed] * 4 + [copy_of_a_point] * 2 + [all_flags, bound_of_a_point, digits, more_claims, more_claims, exchanged, send, send, send, machine,
                                                               communication, order_of_sums]
WAYS = ALL + [machine, exchanged] * 6
