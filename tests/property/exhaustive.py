"""What is possible on a tiny machine, by exhaustive search (exhaustive.cpp), and the frontier of a space that
follows from it."""
import subprocess

import verifier

NEVER = verifier.NEVER


class Exhaustive:
    def __init__(self, program, work=300_000):
        self.program, self.work, self.known = str(program), work, {}
        self.process = None

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()

    def excess(self, machine, chunks, most_steps=40):
        """([e of 0 steps, of 1 step, ...], closed) as exhaustive.cpp has it, NEVER for "-"; None if the
        machine is not tiny."""
        if machine.ranks > 4 or len(chunks.list) * machine.ranks > 24:
            return None
        words = [machine.ranks, len(machine.links), *(n for link in machine.links for n in link), len(machine.limits)]
        for over, bandwidth, *abilities in machine.limits:
            words += [bandwidth, *map(int, abilities), len(over), *over]
        words += [int(chunks.combining), *chunks.order_words(), len(chunks.list)]
        for pre, post in chunks.list:
            words += [len(pre), *sorted(pre), len(post), *sorted(post)]
        question = " ".join(map(str, words + [most_steps, self.work]))
        if question not in self.known:
            if len(self.known) > 1000:
                self.known.clear()
            if self.process is None:
                self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().split()
            if not answer:
                raise RuntimeError("the exhaustive search ended at: " + question)
            self.known[question] = None if answer == ["big"] else ([NEVER if e == "-" else int(e) for e in answer[1:]], answer[0] == "closed")
        if self.known[question] is None and chunks.combining and chunks.one_destination():
            return self.excess(machine.reversed(), chunks.dual(), most_steps)  # the mirror of a sum has fewer states
        return self.known[question]

    def fewest(self, machine, chunks, steps):
        """Rounds of a schedule of at most `steps` steps (None: however many); NEVER if there is none, None if
        unknown."""
        answer = self.excess(machine, chunks)
        if answer is None:
            return None
        excess, closed = answer
        if not closed and (steps is None or steps >= len(excess)):
            return None
        return min(s + e for s, e in enumerate(excess) if steps is None or s <= steps)

    def frontier(self, machine, asked, space, direct_only=False):
        """All best (steps, rounds per chunk as a pair) of a verifier.Space, smallest first; None if
        unknown."""
        found = []

        def add(*parts, pieces):
            answers = [self.excess(machine, part) for part in parts]
            if not all(answer and answer[1] for answer in answers):
                return False
            costs = [(0, 0)]
            for excess, _ in answers:
                costs = [(s + t, e + f) for s, e in costs for t, f in enumerate(excess) if f < NEVER]
            found.extend((s, s + e, pieces) for s, e in costs if space.has(s, s + e))
            return True

        for c in space.chunks:
            if not add(verifier.chunks_of(asked, machine.ranks, c), pieces=c):
                return None
            if asked["collective"] != "allreduce" or not isinstance(asked.get("chunks", 1), int) or direct_only:
                continue
            gather = verifier.chunks_of(asked, machine.ranks, c, "allgather")
            scatter = verifier.chunks_of(asked, machine.ranks, c, "reducescatter")
            if not add(gather, pieces=c) or not add(scatter, gather, pieces=c * machine.ranks):
                return None
        return best(found)


def best(costs):
    """Those of (steps, rounds, chunks) that no other beats, each rate once."""
    kept = []
    for steps, rounds, chunks in sorted(costs, key=lambda cost: (cost[0], cost[1] / cost[2])):
        if not kept or rounds * kept[-1][2] < kept[-1][1] * chunks:
            kept.append((steps, rounds, chunks))
    return kept


def same(a, b):
    """Are two frontiers the same, chunks apart?"""
    return len(a) == len(b) and all(s == t and r * d == q * c for (s, r, c), (t, q, d) in zip(a, b))
