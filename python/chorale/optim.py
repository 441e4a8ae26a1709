"""Optimizers of data parallel training that reduce gradients, update, and gather parameters in one call: each
rank keeps the state of its slice only. Instead of DistributedDataParallel and an optimizer:

    model = ...                                            # not wrapped; parameters become those of rank 0
    optimizer = chorale.optim.FusedAdam(model.parameters(), lr=1e-3)
    loss = ...; loss.backward(); optimizer.step(); optimizer.zero_grad()

Between backward() and step() p.grad is the gradient of this rank's part of the batch.
optimizer.clip_grad_norm_() clips by the norm of the average over all ranks; step() raises where something
else, such as torch.nn.utils.clip_grad_norm_, has changed gradients in place. The constructor, step(),
clip_grad_norm_(), state_dict() and add_param_group() are called by all ranks.

Programs and schedules are python/chorale/programs; `machine` is where the ranks are ('chorale topology
list').
"""

import datetime
import math
import pathlib
import weakref

import torch
import torch.distributed as dist

from chorale import workload

PROGRAMS = pathlib.Path(__file__).parent / "programs"
MOMENTS = {"exp_avg": "m", "exp_avg_sq": "v"}  # PyTorch's names of a state, and those of the programs
PATIENCE = datetime.timedelta(minutes=2)       # how long state_dict() waits for the other ranks


class _Row:
    """Parameters that one call of the program updates: all of them have taken equally many steps. They are
    views of one tensor, `flat`, and their gradients of another, `grads`. Autograd adds to gradients
    through hooks that note the version of `grads`, so that other changes are seen."""

    def __init__(self, owner, params, steps, m, v):
        self.owner, self.params, self.steps, self.m, self.v = weakref.ref(owner), params, steps, m, v
        count = sum(p.numel() for p in params)
        self.flat, self.grads = torch.empty(count), torch.zeros(count)
        at, self.places, self.hooks = 0, [], []
        for k, p in enumerate(params):
            self.places.append((p, self.flat[at:at + p.numel()].view_as(p), self.grads[at:at + p.numel()].view_as(p)))
            at += p.numel()
            if p.requires_grad:
                with torch.enable_grad():
                    accumulate = p.expand_as(p).grad_fn.next_functions[0][0]
                self.hooks.append((accumulate.register_hook(self.hook(k)), accumulate))  # lives as long as somebody has it
        self.take()
        self.seen = self.grads._version

    def hook(self, k):
        row = weakref.ref(self)

        def accumulated(*_):
            if row() is not None:
                row().accumulated(k)

        return accumulated

    def accumulated(self, k):
        if self.owner() is not None and self.owner().clip != 1:
            raise RuntimeError("backward() after clip_grad_norm_(): what it adds would be clipped, too; call step() or zero_grad() first")
        self.place(k)
        self.seen = self.grads._version

    @torch.no_grad()
    def place(self, k):
        p, _, view = self.places[k]
        if p.grad is not None and p.grad.layout == torch.strided and p.grad.data_ptr() != view.data_ptr():
            view.copy_(p.grad)
            p.grad = view  # the next backward pass adds to it where it is

    def take(self):
        """Parameters are views again where load_state_dict(assign=True) or .data = ... has put them
        elsewhere."""
        for p, view, _ in self.places:
            if p.dtype != torch.float32 or p.device.type != "cpu":
                raise ValueError(f"parameters are float32 on the CPU, and one of {list(p.shape)} is {p.dtype} on {p.device}: "
                                 "keep it as float32, and convert what the model reads")
            if p.data_ptr() != view.data_ptr():
                view.copy_(p.data)
                p.data = view

    def collect(self):
        """Takes parameters and gradients as they are now."""
        self.take()
        if self.seen != self.grads._version and self.grads.any():  # zeros are what Module.zero_grad() leaves
            raise RuntimeError("gradients were changed after backward(); a rank has only its own part of them, so clip with "
                               "optimizer.clip_grad_norm_(max_norm), and give other changes by p.grad = ...")
        for k, (p, _, view) in enumerate(self.places):
            if p.grad is None:
                view.zero_()
            elif p.grad.layout != torch.strided:
                raise ValueError(f"the gradient of a parameter of {list(p.shape)} is sparse: make it dense (sparse=False)")
            self.place(k)
        self.seen = self.grads._version

    def leave(self):
        for handle, _ in self.hooks:
            handle.remove()


class _Fused(torch.optim.Optimizer):
    program = ""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, machine=None, process_group=None, directory=None):
        self.group, self.rank, self.ranks = process_group, dist.get_rank(process_group), dist.get_world_size(process_group)
        if self.ranks < 2:
            raise ValueError("the group has one rank, and nothing to reduce: take PyTorch's optimizer, which reads the same states")
        self.where = dict(machine=machine or f"full:{self.ranks}", ranks=self.ranks, directory=directory)
        script = (PROGRAMS / f"{self.program}.script").read_text()
        self.update = workload.Workload(workload.built(PROGRAMS / f"{self.program}.chorale", apply=script, **self.where), process_group)
        self.average = None  # the program of clip_grad_norm_()
        self.clip = 1.0      # by which the next step multiplies gradients
        self.rows = []       # of each group
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    def tensors_of(self, params):
        """What one call of the program is for: lists of parameters."""
        raise NotImplementedError

    @torch.no_grad()
    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        try:
            if not all(group[name] >= 0 for name in ("lr", "eps", "weight_decay")) or not all(0 <= beta < 1 for beta in group["betas"]):
                raise ValueError("lr, eps and weight_decay are not negative, and betas in [0, 1)")
            rows = [self.row(members) for members in self.tensors_of(group["params"])]
            for row in rows:
                self.agree(row.flat)
        except BaseException:
            self.param_groups.pop()
            raise
        self.rows.append(rows)

    def agree(self, flat):
        """Parameters become those of the first rank, as DistributedDataParallel has it."""
        counts = torch.tensor([flat.numel(), -flat.numel()])
        dist.all_reduce(counts, dist.ReduceOp.MAX, group=self.group)
        if counts[0] != -counts[1]:
            raise ValueError(f"parameters have {-counts[1]} elements on one rank and {counts[0]} on another: make the same model on all")
        dist.broadcast(flat, workload.global_rank(self.group, 0), group=self.group)

    def part(self, count):
        """This rank's slice of this number of elements."""
        at = self.rank * (count // self.ranks) + min(self.rank, count % self.ranks)
        return slice(at, at + count // self.ranks + (self.rank < count % self.ranks))

    def row(self, params, steps=0, moments=None):
        """A row; `moments` has the whole m and v."""
        count = sum(p.numel() for p in params)
        whole = moments or [torch.zeros(count), torch.zeros(count)]
        return _Row(self, list(params), steps, *(tensor[self.part(count)].clone() for tensor in whole))

    def whole(self, row):
        """The whole m and v of a row, of the slices of all ranks: for each parameter."""
        count, result = row.flat.numel(), []
        for own in (row.m, row.v):
            parts = torch.zeros(self.ranks, -(-count // self.ranks))
            parts[self.rank, :own.numel()] = own
            dist.all_gather(list(parts), parts[self.rank].clone(), group=self.group)
            longer = count % self.ranks
            flat = torch.cat([part[:count // self.ranks + (rank < longer)] for rank, part in enumerate(parts)])
            result.append(flat.split([p.numel() for p in row.params]))
        return list(zip(*result))

    def divide(self, row, kinds):
        """Rows of the parameters of each kind."""
        moments = self.whole(row)
        row.leave()
        divided = []
        for kind in sorted(set(kinds), reverse=True):
            chosen = [k for k in range(len(kinds)) if kinds[k] == kind]
            divided.append(self.row([row.params[k] for k in chosen], row.steps,
                                    [torch.cat([moments[k][which] for k in chosen]) for which in (0, 1)]))
            divided[-1].collect()
        return divided

    @torch.no_grad()
    def collect(self):
        """Takes gradients; for each row of each group, which of its parameters have one on some rank. What is
        wrong on one rank is raised on all, so that none waits."""
        every = [row for rows in self.rows for row in rows]
        told, fault = torch.tensor([0, *(p.grad is not None for row in every for p in row.params)], dtype=torch.uint8), None
        try:
            for row in every:
                row.collect()
        except (RuntimeError, ValueError) as error:
            told[0], fault = 1, error
        dist.all_reduce(told, dist.ReduceOp.MAX, group=self.group)
        if told[0]:
            raise fault or RuntimeError("another rank refuses its parameters or gradients, and prints the reason")
        has, at = told.tolist(), 1
        used = []
        for rows in self.rows:
            used.append([])
            for row in rows:
                used[-1].append(has[at:at + len(row.params)])
                at += len(row.params)
        return used

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        used = self.collect()
        for number, group in enumerate(self.param_groups):
            rows = []
            for row, has in zip(self.rows[number], used[number]):
                divided = self.divide(row, has) if 0 < sum(has) < len(has) else [row]
                rows += divided
                if any(has):
                    self.advance(divided[0], group)
            self.rows[number] = rows
        self.clip = 1.0
        return loss

    def advance(self, row, group):
        if row.flat.numel() == 0:
            return
        row.steps += 1
        beta1, beta2 = group["betas"]
        self.update(g=row.grads, p=row.flat, m=row.m, v=row.v, lr=float(group["lr"]), beta1=beta1, beta2=beta2, rest1=1 - beta1, rest2=1 - beta2,
                    eps=group["eps"], decay=group["weight_decay"], clip=self.clip, correction1=1 - beta1**row.steps,
                    correction2=math.sqrt(1 - beta2**row.steps))

    @torch.no_grad()
    def clip_grad_norm_(self, max_norm, norm_type=2.0, error_if_nonfinite=False):
        """As torch.nn.utils.clip_grad_norm_ on gradients that are averaged over the ranks, of all groups
        together; gives their norm. The next step() uses clipped gradients; p.grad stays as it is. Called
        by all ranks."""
        norm_type = float(norm_type)
        if not norm_type > 0:
            raise ValueError(f"norm_type is positive, and not {norm_type}")
        self.collect()
        if self.average is None:
            self.average = workload.Workload(workload.built(PROGRAMS / "average.chorale", **self.where), self.group)
        parts = [self.average(g=row.grads) for rows in self.rows for row in rows if row.flat.numel() > 0]
        norms = [torch.linalg.vector_norm(part, norm_type, dtype=torch.float64) for part in parts if part.numel() > 0]
        powers = torch.stack([torch.zeros((), dtype=torch.float64), *(norm if math.isinf(norm_type) else norm**norm_type for norm in norms)])
        total = powers.max() if math.isinf(norm_type) else powers.sum()
        dist.all_reduce(total, dist.ReduceOp.MAX if math.isinf(norm_type) else dist.ReduceOp.SUM, group=self.group)
        norm = self.clip * (total.item() if math.isinf(norm_type) else total.item() ** (1 / norm_type))
        if error_if_nonfinite and not math.isfinite(norm):
            raise RuntimeError(f"the norm of the gradients is {norm}, so they cannot be clipped")
        ratio = float(max_norm) / (norm + 1e-6)
        self.clip *= ratio if not ratio >= 1 else 1.0  # not a number stays one
        return torch.tensor(norm, dtype=torch.float32)

    def zero_grad(self, *args, **options):
        """As PyTorch's, with its default of set_to_none."""
        super().zero_grad(*args, **options)
        self.clip = 1.0
        for rows in self.rows:
            for row in rows:
                row.seen = row.grads._version

    @torch.no_grad()
    def state_dict(self):
        """As that of torch.optim.Adam, whole, whatever the number of ranks; called by all of them. `rows` has
        the parameters that are updated by one call, so that a resumed run sums in the same order."""
        if dist.get_backend(self.group) == "gloo":
            try:
                dist.monitored_barrier(self.group, PATIENCE)
            except RuntimeError as error:
                raise RuntimeError("state_dict() gathers the slices of all ranks, so all ranks call it; one did not come in "
                                   f"{PATIENCE.seconds} s") from error
        for rows in self.rows:
            for row in rows:
                for p, moments in zip(row.params, self.whole(row)):
                    if row.steps > 0:
                        self.state[p] = {"step": torch.tensor(float(row.steps)), **{name: each.view_as(p).clone() for name, each in zip(MOMENTS, moments)}}
        result = super().state_dict()
        self.state.clear()
        for packed, group, rows in zip(result["param_groups"], self.param_groups, self.rows):
            number = {id(p): k for k, p in enumerate(group["params"])}
            packed.update(program=self.program, rows=[[number[id(p)] for p in row.params] for row in rows])
        return result

    @torch.no_grad()
    def load_state_dict(self, state_dict):
        """Takes a state of this optimizer on any number of ranks, or of PyTorch's."""
        self.refuse(state_dict)
        super().load_state_dict(state_dict)
        for number, group in enumerate(self.param_groups):
            group.pop("program", None)
            saved = group.pop("rows", None)
            for row in self.rows[number]:
                row.leave()
            steps = {p: int(self.state[p]["step"]) if p in self.state else 0 for p in group["params"]}
            rows = [[group["params"][k] for k in row] for row in saved] if saved else [
                [p for p in members if steps[p] == count] for members in self.tensors_of(group["params"])
                for count in sorted({steps[p] for p in members}, reverse=True)]
            self.rows[number] = [self.row(members, steps[members[0]], [
                torch.cat([self.state[p][name].reshape(-1) if steps[p] else torch.zeros(p.numel()) for p in members]) for name in MOMENTS])
                for members in rows]
        self.state.clear()

    def refuse(self, state_dict):
        """What is not a state of these optimizers, before anything is changed."""
        def need(so, what):
            if not so:
                raise ValueError(f"load_state_dict: {what}; give what state_dict() of a {type(self).__name__} gave")

        groups, state = state_dict["param_groups"], state_dict["state"]
        need(len(groups) == len(self.param_groups), f"{len(groups)} groups of parameters, and the optimizer has {len(self.param_groups)}")
        for group, own in zip(groups, self.param_groups):
            need(len(group["params"]) == len(own["params"]), f"a group of {len(group['params'])} parameters, and the optimizer's has {len(own['params'])}")
            need(all(name in group for name in self.defaults), f"a group without {', '.join(name for name in self.defaults if name not in group)}")
            need(group.get("program", self.program) == self.program, f"the state is of {group.get('program')}")
            need(not group.get("amsgrad") and not group.get("maximize"), "amsgrad and maximize are not there")
            steps = {}
            for k, (name, p) in enumerate(zip(group["params"], own["params"])):
                entry = state.get(name)
                steps[k] = int(entry["step"]) if entry and "step" in entry else 0
                need(not entry or set(entry) == {"step", *MOMENTS} and all(entry[each].shape == p.shape for each in MOMENTS),
                     f"the state of parameter {name} has not step, {' and '.join(MOMENTS)} of its shape {list(p.shape)}")
            rows = group.get("rows", [])
            if rows:
                need(sorted(k for row in rows for k in row) == list(range(len(own["params"]))) and
                     all(len({steps[k] for k in row}) == 1 for row in rows), "rows of parameters that took different numbers of steps")


class FusedAdam(_Fused):
    """Adam, as torch.optim.Adam over gradients that DistributedDataParallel has averaged. A parameter that
    has a gradient on no rank is left alone, and so is its state."""

    program = "adam"

    def tensors_of(self, params):
        return [list(params)]


class FusedAdamW(FusedAdam):
    """Adam with decoupled weight decay, as torch.optim.AdamW."""

    program = "adamw"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, **options):
        super().__init__(params, lr, betas, eps, weight_decay, **options)


class FusedLAMB(_Fused):
    """LAMB: each tensor of parameters has a trust ratio of its own."""

    program = "lamb"

    def tensors_of(self, params):
        return [[p] for p in params]
