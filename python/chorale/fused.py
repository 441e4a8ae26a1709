"""What the optimizers of chorale.optim have in common: buckets, reductions during the backward pass, steps,
and states."""

import concurrent.futures
import contextlib
import datetime
import functools
import inspect
import math

import torch
import torch.distributed as dist

from chorale import updates, workload
from chorale.agreement import together
from chorale.buckets import KINDS, Bucket
from chorale.exchanges import global_rank, part

BUCKET = 25 << 20                         # bytes of gradients, as of DistributedDataParallel
PATIENCE = datetime.timedelta(minutes=2)  # how long state_dict() waits for the other ranks
MASTER = {"master_param": "w"}            # of parameters of 16 bits
SCALER = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler  # before PyTorch 2.3


class Fused(torch.optim.Optimizer):
    rule, names = "adam", {
        "exp_avg": "m",
        "exp_avg_sq": "v"
    }  # the program; PyTorch's names of a state, and the program's

    def __init__(self,
                 params,
                 defaults,
                 machine=None,
                 process_group=None,
                 directory=None,
                 module=None,
                 order="agreed",
                 sum=None,
                 wire=None):
        self.group, self.rank, self.ranks = process_group, dist.get_rank(process_group), dist.get_world_size(
            process_group)
        self.wire, self.by_index = wire, order == "by-index"  # backward passes are added up along the same tree
        if wire not in updates.WIRES:
            raise ValueError(f"wire={wire!r}: give 'bf16', 'fp16' or None")
        if self.ranks < 2 and not self.by_index:
            raise ValueError(
                "the group has one rank, and nothing to reduce: take PyTorch's optimizer, which reads the "
                "same states"
            )
        load = functools.partial(workload.loaded,
                                 machine=machine,
                                 directory=directory,
                                 order=workload.order_of(order, sum))
        self.behind = _beside(process_group, self.ranks)  # the group of what is sent during the backward pass
        self.pool = concurrent.futures.ThreadPoolExecutor(1, "chorale")
        self.reducer = functools.lru_cache(None)(lambda kind: load(*updates.reduction(kind, wire), self.behind))
        self.updater = functools.lru_cache(None)(
            lambda kind: load(*updates.update(self.rule, kind), self.group))
        self.clip = 1.0           # by which the next step multiplies gradients
        # During the backward pass.
        self.synchronizes = self.behind is not process_group or process_group is None
        self.rows = []            # buckets of each group
        self.order, self.next = [], 0  # in which buckets are reduced, and the one that is next
        self.rounds = 0                # in which the order has come to its end, or was left
        super().__init__(params, defaults)
        if module is not None:
            self.take_rest(module)

    @torch.no_grad()
    def take_rest(self, module):
        """What a module has beside the parameters of this optimizer becomes the first rank's: parameters now,
        and buffers before each forward pass of training, as DistributedDataParallel has it."""
        own = {id(p) for group in self.param_groups for p in group["params"]}
        trained = [name for name, p in module.named_parameters() if p.requires_grad and id(p) not in own]
        try:
            together(lambda: _refuse(trained), self.group, "to compare the parameters of a module")
        except (ValueError, RuntimeError):
            for row in self.order:
                row.leave()
            raise
        self.send_first([p for p in module.parameters() if id(p) not in own] + list(module.buffers()))

        def before(module, *_):
            if module.training and torch.is_grad_enabled():
                self.send_first(module.buffers())

        self.hook = module.register_forward_pre_hook(before)

    @torch.no_grad()
    def send_first(self, tensors):
        for each in (each.detach() for each in tensors if each.numel()):
            flat = each.contiguous().view(-1)
            dist.broadcast(flat.view(torch.uint8), global_rank(self.group, 0), group=self.group)
            each.copy_(flat.view_as(each))

    def checked(self, group):
        """Raises ValueError where hyperparameters make no sense."""
        if not all(group[name] >= 0
                   for name in ("lr", "eps", "weight_decay")) or not all(0 <= beta < 1
                                                                         for beta in group["betas"]):
            raise ValueError("lr, eps and weight_decay are not negative, and betas in [0, 1)")

    def tensors_of(self, params):
        """What one call of the program is for: lists of parameters of one type, of about BUCKET bytes."""
        result = []
        for kind in dict.fromkeys(p.dtype for p in params):
            full = True
            for p in (p for p in params if p.dtype == kind):
                if full:
                    result.append([])
                result[-1].append(p)
                full = sum(each.numel() * each.element_size() for each in result[-1]) >= BUCKET
        return result

    @torch.no_grad()
    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        try:
            self.checked(group)
            for p in group["params"]:
                if p.dtype not in KINDS or p.device.type != "cpu":
                    raise ValueError(
                        f"parameters are float32, bfloat16 or float16 on the CPU, and one of {list(p.shape)} "
                        f"is {p.dtype} on {p.device}"
                    )
            for kind in sorted({KINDS[p.dtype] for p in group["params"]}):
                self.reducer(kind), self.updater(kind)
            rows = [self.row(members, fresh=True) for members in self.tensors_of(group["params"])]
        except BaseException:
            self.param_groups.pop()
            raise
        self.rows.append(rows)
        self.ordered()

    def ordered(self):
        """Buckets in the order in which a backward pass completes them, mostly."""
        self.settle()
        every = [row for rows in reversed(self.rows) for row in reversed(rows)]
        self.order = sorted(every,
                            key=lambda row: not row.needed)  # those that no backward pass completes come last
        for row in self.order:
            row.anew()

    def agree(self, flat):
        """Parameters become those of the first rank, as DistributedDataParallel has it."""
        counts = torch.tensor([flat.numel(), -flat.numel()])
        dist.all_reduce(counts, dist.ReduceOp.MAX, group=self.group)
        if counts[0] != -counts[1]:
            raise ValueError(
                f"parameters have {-counts[1]} elements on one rank and {counts[0]} on another: make the "
                f"same model on all"
            )
        bytes_ = flat.view(torch.uint8) if flat.numel() else flat  # whatever types the backend has
        dist.broadcast(bytes_, global_rank(self.group, 0), group=self.group)

    def part(self, count):
        """This rank's slice of this number of elements."""
        begin, length = part(count, self.ranks, self.rank)
        return slice(begin, begin + length)

    def length(self, count):
        return part(count, self.ranks, self.rank)[1]

    def row(self, params, steps=0, states=None, fresh=False):
        """A bucket; `states` are whole, by name. Where they have no master, it is the parameters."""
        count = sum(p.numel() for p in params)
        whole = states or {name: torch.zeros(count) for name in self.names.values()}
        made = Bucket(self, list(params), steps, {
            name: each[self.part(count)].clone()
            for name, each in whole.items()
        })
        if fresh:
            self.agree(made.flat)
        if made.kind != "fp32" and "w" not in made.states:
            made.states["w"] = made.flat[self.part(count)].float()
        return made

    def whole(self, row):
        """The states of a bucket, of the slices of all ranks: of each parameter, by name."""
        count, sizes = row.flat.numel(), [p.numel() for p in row.params]
        result = [{} for _ in row.params]
        for name, own in row.states.items():
            parts = torch.zeros(self.ranks, -(-count // self.ranks))
            parts[self.rank, :own.numel()] = own
            dist.all_gather(list(parts), parts[self.rank].clone(), group=self.group)
            flat = torch.cat([each[:part(count, self.ranks, rank)[1]] for rank, each in enumerate(parts)])
            for entry, each in zip(result, flat.split(sizes)):
                entry[name] = each
        return result

    def divide(self, row, kinds):
        """Buckets of the parameters of each kind."""
        states = self.whole(row)
        row.leave()
        divided = []
        for kind in sorted(set(kinds), reverse=True):
            chosen = [k for k in range(len(kinds)) if kinds[k] == kind]
            divided.append(
                self.row([row.params[k] for k in chosen], row.steps,
                         {name: torch.cat([states[k][name] for k in chosen])
                          for name in row.states}))
            divided[-1].collect()
        return divided

    def gathered(self, mine):
        """A small tensor of each rank."""
        return self.updater(min(
            KINDS[p.dtype] for group in self.param_groups for p in group["params"])).gathered(mine)

    # Reductions.
    def launch(self):
        """Starts the reductions of complete buckets, in their order."""
        while self.next < len(self.order) and self.order[self.next].complete():
            self.order[self.next].start()
            self.next += 1

    def settle(self):
        """All ranks have done the same reductions; nothing is known of any."""
        for row in self.order[self.next:] if self.next > 0 else ():
            row.start()
        self.wait()
        self.rounds += self.next > 0
        self.next = 0

    @contextlib.contextmanager
    def no_sync(self):
        """Backward passes within add to gradients and reduce nothing. With order="by-index" one pass is one
        term of the sums."""
        self.synchronizes, before = False, self.synchronizes
        try:
            yield
            if self.by_index:
                for row in self.order:
                    row.put_aside()
        finally:
            self.synchronizes = before

    @torch.no_grad()
    def collect(self):
        """Takes gradients, and starts the reductions of all that any rank has; for each bucket of each group,
        which of its parameters have one on some rank. What is wrong on one rank is raised on all, so that
        none waits."""
        every = [row for rows in self.rows for row in rows]
        fault = None
        try:
            for row in every:
                row.collect()
        except (RuntimeError, ValueError) as error:
            fault = error
        flags = torch.tensor([
            self.rounds % 256, fault is not None, *(row.stale for row in every), *(p.grad is not None for row in every
                                                                for p in row.params)
        ],
                             dtype=torch.uint8)
        flags = self.gathered(flags)
        rounds, flags, at = flags[:, 0].tolist(), flags[:, 1:].amax(0).tolist(), 1 + len(every)
        if len(set(rounds)) > 1:
            raise RuntimeError(
                f"a rank has left out a step that others take: rounds of reductions, by rank, are {rounds}; "
                "call step() and zero_grad() on every rank")
        if flags[0]:
            self.settle()
            for row in every:
                row.anew()
            raise fault or RuntimeError(
                "another rank refuses its parameters or gradients, and prints the reason")
        used = {}
        for row in every:
            used[row] = flags[at:at + len(row.params)]
            at += len(row.params)
        for row in self.order:
            if any(used[row]) and row.future is None:
                row.start()
        self.next = len(self.order)
        for row, stale in zip(every, flags[1:]):
            if stale:
                row.done()
                row.start()
                row.stale = False
        if self.behind is self.group:  # what follows would mix with it
            self.wait()
        return [[used[row] for row in rows] for rows in self.rows]

    def wait(self):
        for row in self.order:
            row.done()

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        used, divides = self.collect(), False
        for number, group in reversed(list(enumerate(
                self.param_groups))):  # in the order of reductions: the next ones go on
            rows = []
            for row, has in reversed(list(zip(self.rows[number], used[number]))):
                row.done()
                divided = [row]
                if 0 < sum(has) < len(has):
                    divided, divides = self.divide(row, has), True
                    divided[0].start()
                    divided[0].done()
                rows[:0] = divided
                if any(has):
                    self.advance(divided[0], group)
            self.rows[number] = rows
        self.next = 0
        self.rounds += 1
        for row in self.order:
            row.anew()
        if divides:
            self.ordered()
        self.clip = 1.0
        return loss

    def advance(self, row, group):
        if row.flat.numel() == 0:
            return
        row.steps += 1
        given = {
            "d": row.reduced,
            "p": row.flat,
            **row.states, "clip": self.clip / self.ranks,
            "lr": float(group["lr"]),
            "decay": group["weight_decay"]
        }
        self.updater(row.kind).done(0, {**given, **self.scalars(row.steps, group)})

    def scalars(self, steps, group):
        beta1, beta2 = group["betas"]
        return dict(beta1=beta1,
                    beta2=beta2,
                    rest1=1 - beta1,
                    rest2=1 - beta2,
                    eps=group["eps"],
                    correction1=1 - beta1**steps,
                    correction2=math.sqrt(1 - beta2**steps))

    @torch.no_grad()
    def clip_grad_norm_(self, max_norm, norm_type=2.0, error_if_nonfinite=False):
        """As torch.nn.utils.clip_grad_norm_ on gradients that are averaged over the ranks, of all groups
        together; gives their norm. The next step() uses clipped gradients; p.grad stays as it is. Called
        by all ranks."""
        norm_type = float(norm_type)
        if not norm_type > 0:
            raise ValueError(f"norm_type is positive, and not {norm_type}")
        self.collect()
        self.wait()
        parts = [row.reduced for rows in self.rows for row in rows if row.reduced is not None]
        norms = [
            torch.linalg.vector_norm(each, norm_type, dtype=torch.float64) for each in parts
            if each.numel() > 0
        ]
        powers = torch.stack([
            torch.zeros((), dtype=torch.float64),
            *(norm if math.isinf(norm_type) else norm**norm_type for norm in norms)
        ])
        total = powers.max() if math.isinf(norm_type) else powers.sum()
        everyone = self.gathered(total)
        total = everyone.max() if math.isinf(norm_type) else everyone.sum()
        norm = self.clip / self.ranks * (total.item() if math.isinf(norm_type) else total.item()**(1 /
                                                                                                   norm_type))
        if error_if_nonfinite and not math.isfinite(norm):
            raise RuntimeError(f"the norm of the gradients is {norm}, so they cannot be clipped")
        ratio = float(max_norm) / (norm + 1e-6)
        self.clip *= ratio if not ratio >= 1 else 1.0  # not a number stays one
        return torch.tensor(norm, dtype=torch.float32)

    @torch.no_grad()
    def unscale(self, inverse):
        """Multiplies gradients by a number, and their sums over the ranks. Whether all sums are finite, the
        same on all ranks, which all call it."""
        self.collect()
        self.wait()
        finite = True
        for row in (row for rows in self.rows for row in rows):
            row.grads.mul_(inverse)
            row.seen = row.grads._version
            if row.reduced is not None:
                finite = finite and bool(row.reduced.isfinite().all())
                row.reduced.mul_(inverse)
        return bool(self.gathered(torch.tensor([finite])).all())

    def zero_grad(self, *args, **options):
        """As PyTorch's, with its default of set_to_none."""
        if self.next > 0:  # a step is left out
            self.settle()
        super().zero_grad(*args, **options)
        self.clip = 1.0
        for row in self.order:
            row.partial.clear()
            row.anew()
            row.seen = row.grads._version

    # States.
    @torch.no_grad()
    def state_dict(self):
        """As that of PyTorch's optimizer, whole, whatever the number of ranks; called by all of them. `rows`
        has the parameters that are updated by one call, so that a resumed run sums in the same order."""
        if dist.get_backend(self.group) == "gloo":
            try:
                dist.monitored_barrier(self.group, PATIENCE)
            except RuntimeError as error:
                raise RuntimeError(
                    "state_dict() gathers the slices of all ranks, so all ranks call it; one did not come in "
                    f"{PATIENCE.seconds} s") from error
        for rows in self.rows:
            for row in rows:
                for p, states in zip(row.params, self.whole(row)):
                    if row.steps > 0:
                        names = {**self.names, **MASTER}
                        self.state[p] = {
                            "step": torch.tensor(float(row.steps)),
                            **{
                                name: states[own].view_as(p).clone()
                                for name, own in names.items() if own in states
                            }
                        }
        result = super().state_dict()
        self.state.clear()
        for packed, group, rows in zip(result["param_groups"], self.param_groups, self.rows):
            number = {id(p): k for k, p in enumerate(group["params"])}
            packed.update(program=self.rule, rows=[[number[id(p)] for p in row.params] for row in rows])
        return result

    @torch.no_grad()
    def load_state_dict(self, state_dict):
        """Takes a state of this optimizer on any number of ranks, or of PyTorch's."""
        self.refuse(state_dict)
        super().load_state_dict({**state_dict, "state": {}})
        for number, (group, packed) in enumerate(zip(self.param_groups, state_dict["param_groups"])):
            group.pop("program", None)
            saved = group.pop("rows", None)
            for row in self.rows[number]:
                row.done()
                row.leave()
            kept = {
                p: state_dict["state"].get(name, {})
                for name, p in zip(packed["params"], group["params"])
            }
            steps = {p: self.steps_of(kept[p]) for p in group["params"]}
            rows = [[group["params"][k] for k in row] for row in saved] if saved else [
                [p for p in members if steps[p] == count] for members in self.tensors_of(group["params"])
                for count in sorted({steps[p] for p in members}, reverse=True)]
            self.rows[number] = [
                self.row(members, steps[members[0]], self.joined(members, kept)) for members in rows
            ]
        self.next = 0
        self.ordered()

    def steps_of(self, entry):
        return int(entry.get("step", 0))

    def joined(self, members, kept):
        """The states of a bucket, of those of its parameters: zero where there is none, and a master where
        all have one."""
        result = {
            own: torch.cat([
                kept[p][name].to("cpu", torch.float32).reshape(-1) if kept[p].get(
                    name) is not None else torch.zeros(p.numel())
                for p in members
            ])
            for name, own in self.names.items()
        }
        for name, own in MASTER.items():
            if members[0].dtype != torch.float32 and any(name in kept[p] for p in members):
                result[own] = torch.cat([
                    kept[p].get(name, p.detach()).to("cpu", torch.float32).reshape(-1) for p in members
                ])
        return result

    def refuse(self, state_dict):
        """What is not a state of these optimizers, before anything is changed."""
        def need(so, what):
            if not so:
                raise ValueError(
                    f"load_state_dict: {what}; give what state_dict() of a {type(self).__name__} gave")

        groups, state = state_dict["param_groups"], state_dict["state"]
        need(
            len(groups) == len(self.param_groups),
            f"{len(groups)} groups of parameters, and the optimizer has {len(self.param_groups)}")
        for group, own in zip(groups, self.param_groups):
            need(
                len(group["params"]) == len(own["params"]),
                f"a group of {len(group['params'])} parameters, and the optimizer's has {len(own['params'])}")
            need(all(name in group for name in self.defaults),
                 f"a group without {', '.join(name for name in self.defaults if name not in group)}")
            need(group.get("program", self.rule) == self.rule, f"the state is of {group.get('program')}")
            need(not group.get("amsgrad") and not group.get("maximize"), "amsgrad and maximize are not there")
            steps = {}
            for k, (name, p) in enumerate(zip(group["params"], own["params"])):
                entry = state.get(name) or {}
                steps[k] = self.steps_of(entry)
                need(
                    self.complete(entry, p),
                    f"the state of parameter {name} has not step, {' and '.join(self.names)} of its shape "
                    f"{list(p.shape)}"
                )
            rows = group.get("rows", [])
            if rows:
                need(
                    sorted(k for row in rows for k in row) == list(range(len(own["params"])))
                    and all(len({steps[k]
                                 for k in row}) == 1
                            for row in rows), "rows of parameters that took different numbers of steps")

    def complete(self, entry, p):
        return not entry or set(entry) - MASTER.keys() == {"step", *self.names} and all(
            entry[each].shape == p.shape for each in self.names)


def _unscaled(scaler, optimizer, inv_scale, found_inf, allow_fp16, others=SCALER._unscale_grads_):
    """GradScaler's, whose step is left out on all ranks where a sum over the ranks is not finite."""
    if not isinstance(optimizer, Fused):
        return others(scaler, optimizer, inv_scale, found_inf, allow_fp16)
    return {found_inf.device: torch.full_like(found_inf, float(not optimizer.unscale(inv_scale.item())))}


SCALER._unscale_grads_ = _unscaled
def _refuse(trained):
    if trained:
        raise ValueError(f"{trained[0]} requires a gradient, which no optimizer here averages: give it to the "
                         "optimizer, or set requires_grad = False")


_besides = {}


def _beside(group, ranks):
    """A group of the same ranks for what is sent while other collectives run; before PyTorch 2.1 there is
    none of a part of the ranks, since all of them would have to make it."""
    local = "use_local_synchronization" in inspect.signature(dist.new_group).parameters
    everyone = tuple(global_rank(group, rank) for rank in range(ranks))
    if not local and ranks < dist.get_world_size():
        return group
    if everyone not in _besides:
        _besides[everyone] = dist.new_group(list(everyone),
                                            **({
                                                "use_local_synchronization": True
                                            } if local else {}))
    return _besides[everyone]
