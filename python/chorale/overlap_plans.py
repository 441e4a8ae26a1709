"""Plans of overlaps for kernels of others, as compile writes them in NAME.json (docs/workloads.md): the order of the
chunks of a communication, and which chunks each step waits for.

Usage: python3 -m chorale.overlap_plans NAME.json"""
import json
import sys

from chorale.errors import InputError


def plans(path):
    """Those of a file, checked: overlap, handed_over, communication."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)["overlaps"]
        for number, each in enumerate(found):
            for fault in faults(each["communication"]):
                raise InputError(f"{path}: overlap {number}, {each['communication']['operation']}: {fault}")
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: has no plans of overlaps: {type(error).__name__}: {error}") from error
    return found


def faults(plan):
    """What a kernel that follows the plan would do wrong, in words."""
    ranks, steps, pieces = plan["ranks"], plan["steps"], plan["pieces"]
    made, complete = ({(each["rank"], *chunk): each["step"] for each in plan[which] for chunk in each["chunks"]}
                      for which in ("waits", "arrivals"))
    for which, found in (("waits", made), ("arrivals", complete)):
        if len(found) != sum(len(each["chunks"]) for each in plan[which]):
            yield f"{which}: a chunk is there twice"
        for (rank, block, piece), step in found.items():
            if not (0 <= rank < ranks and 0 <= block < ranks and 0 <= piece < pieces and 0 <= step < steps):
                yield f"{which}: rank {rank}, step {step}, chunk {block}.{piece}: out of range"
    before = 0
    for step, sender, receiver, block, piece, own in plan["messages"]:
        if step < before or step >= steps:
            yield f"messages: step {step} behind step {before}, of {steps}"
        before = step
        if not (0 <= sender < ranks and 0 <= receiver < ranks and sender != receiver):
            yield f"messages: from rank {sender} to rank {receiver}, of {ranks}"
        if own and made.get((sender, block, piece), steps) > step:
            yield f"step {step}: rank {sender} sends chunk {block}.{piece}, and waits for it later, or never"
    for rank in range(ranks):
        blocks = {"ReduceScatter": (ranks, 1), "AllGather": (1, ranks), "AllToAll": (ranks, ranks)}.get(plan["kind"])
        for which, found, count in zip(("waits", "arrivals"), (made, complete), blocks or ()):
            there = sum(each[0] == rank for each in found)
            # A rank's own block need not be moved.
            if count > 1 and there not in (count * pieces, (count - 1) * pieces):
                yield f"{which}: rank {rank} has {there} of {count * pieces} chunks"


def main():
    try:
        found = [each for path in sys.argv[1:] for each in plans(path)]
    except InputError as error:
        print(f"chorale.overlap_plans: error: {error}", file=sys.stderr)
        sys.exit(2)
    for each in found:
        plan = each["communication"]
        print(f"{each['overlap']}: {plan['operation']}, {plan['kind']} in {plan['steps']} steps, "
              f"{len(plan['messages'])} messages, {plan['pieces']} pieces a block")


if __name__ == "__main__":
    main()
