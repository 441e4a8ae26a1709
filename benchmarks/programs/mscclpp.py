"""Plans of MSCCL++ (JSON), and faults in them."""
import json
import math

from launches import MOVES, Launches
from machine import Found, Promise, run

SCRATCH = 1 << 26  # bytes, where units of pipelines reuse it


class Plan:
    faults = ("offsets", "wait", "signal", "move", "sync")

    def __init__(self, text):
        self.plan = json.loads(text)
        self.gpus, kind = self.plan["gpus"], self.plan["collective"]
        self.ranks, same = len(self.gpus), self.plan["inplace"]
        self.double, self.reuse = self.plan.get("use_double_scratch_buffer"), self.plan.get("reuse_resources")
        self.modes, self.room = [same], 0
        every = [op for _, op in self.operations()]
        self.pieces = math.lcm(*(op["tbg_info"]["tbg_size"] for op in every if "tbg_info" in op))
        pipelines = [op["iter_context"] for op in every if op["name"] == "pipeline"]
        if pipelines and self.reuse:
            sizes = {(each["unit_size"], each["num_chunks"]) for each in pipelines}
            (unit, chunks), *more = sizes
            if not more and chunks == 1:
                self.room = SCRATCH // max(gpu["scratch_chunks"] for gpu in self.gpus) // unit
            self.pieces = self.room + 2
        elif pipelines:
            self.pieces *= 2
        self.sizes = [[gpu[key] * self.pieces for gpu in self.gpus]
                      for key in ("input_chunks", "output_chunks")]
        if same and kind == "allreduce":
            self.sizes[1] = self.sizes[0]
        k = {"reducescatter": max(self.sizes[1]), "alltoall": max(self.sizes[0]) // self.ranks,
             "scatter": max(self.sizes[1])}.get(kind, max(self.sizes[0]))
        ends = [peer for entry in self.gpus[0]["channels"] for peer in entry.get("connected_to", [])]
        step = min(ends, default=1)  # of sendrecv with a split mask: ranks in a group
        step = step if step & (step - 1) == 0 < step and self.ranks % step == 0 else 1
        self.promise = Promise(kind, self.ranks, k, self.plan.get("root", 0), self.sizes, step)
        self.promise.unit = self.pieces

    def operations(self):
        """Lists and operations in them."""
        for gpu in self.gpus:
            for block in gpu["threadblocks"]:
                for op in block["ops"]:
                    yield block["ops"], op
                    yield from ((op["ops"], inner) for inner in op.get("ops", []))

    def text(self):
        return json.dumps(self.plan)

    def mutate(self, fault, chance):
        """Whether there is anything of the kind."""
        if fault == "offsets":
            operations = [(r, inner) for r, gpu in enumerate(self.gpus) for block in gpu["threadblocks"]
                          for op in block["ops"] for inner in op.get("ops", [op])]
            places = [(r, side, i > 0, place) for r, op in operations for side in ("src_buff", "dst_buff")
                      for i, place in enumerate(op.get(side, []))]
            kind = lambda each: (*each[:3], [each[3].get(key) for key in ("type", "buffer_id")])  # noqa: E731
            pairs = [(a[3], b[3]) for a in places for b in places
                     if kind(a) == kind(b) and a[3]["index"] < b[3]["index"]]
            if pairs:
                a, b = chance.choice(pairs)
                a["index"], b["index"] = b["index"], a["index"]
            return bool(pairs)
        names = {"wait": ("wait", "rlxwait", "sem_acquire"), "signal": ("signal", "rlxsignal", "sem_release"),
                 "move": MOVES, "sync": ("nop",)}[fault]
        fits = [(ops, op) for ops, op in self.operations() if op["name"] in names]
        if fits:
            ops, op = chance.choice(fits)
            key = "semaphore_ids" if "semaphore_ids" in op else "channel_ids"
            if fault in ("wait", "signal") and len(op[key]) > 1:
                op[key].remove(chance.choice(op[key]))
            else:
                at = next(i for i, each in enumerate(ops) if each is op)
                ops[at:at + 1] = [{"name": "nop"}] * (fault != "sync")
        return bool(fits)

    def outcome(self, same, chance):
        """Values of outputs after the last launch, the slot of a race, and that of one where relaxed signals
        order no data and launches do not wait for proxies."""
        if self.reuse and not self.room:
            raise Found("unknown", "reuse_resources")
        results = []
        for strict in (False, True):
            launches = Launches(self, same, strict, 3 if self.double else 2)
            run(list(launches.blocks()), chance)
            launches.balance()
            results.append(launches)
        for values in results[0].values[:-1]:
            self.promise.compare(values)
        return results[0].values[-1], results[0].memory.race, results[1].memory.race
