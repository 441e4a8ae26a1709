"""Buckets of parameters that one call of a program updates: all of them have taken equally many steps. A
bucket's gradients are reduced as soon as the backward pass has made the last of them, by a thread of the
optimizer, in the same order on all ranks."""

import weakref

import torch

from chorale.statements import TYPES

KINDS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


class Bucket:
    """Parameters are views of one tensor, `flat`, and their gradients of another, `grads`. Autograd adds to
    gradients through hooks that note the version of `grads`, so that other changes are seen. `states` are a
    rank's slices, by name; `reduced` is its slice of the summed gradients once `future` is done."""

    def __init__(self, owner, params, steps, states):
        self.owner, self.params, self.steps, self.states = weakref.ref(owner), params, steps, states
        self.kind = KINDS[params[0].dtype]
        count = sum(p.numel() for p in params)
        self.flat, self.grads = (program.zeros(count, TYPES[self.kind])
                                 for program in (owner.updater(self.kind), owner.reducer(self.kind)))
        self.crosses = TYPES[owner.wire or "fp32"] if self.kind == "fp32" else self.grads.dtype
        self.total = torch.empty(owner.length(count))  # in one place for all steps
        self.partial = []  # sums of 2^k backward passes each, fewer and fewer: (passes, gradients)
        at, self.places, self.hooks, self.needed = 0, [], [], set()
        for k, p in enumerate(params):
            self.places.append(
                (p, self.flat[at:at + p.numel()].view_as(p), self.grads[at:at + p.numel()].view_as(p)))
            at += p.numel()
            if p.requires_grad:
                self.needed.add(k)
                self.hooks.append(self.hooked(p, k))
        self.take()
        self.seen = self.grads._version
        self.anew()

    def hooked(self, p, k):
        bucket = weakref.ref(self)

        def accumulated(*_):
            if bucket() is not None:
                bucket().accumulated(k)

        if hasattr(p, "register_post_accumulate_grad_hook"):  # PyTorch 2.1
            return p.register_post_accumulate_grad_hook(accumulated), None
        with torch.enable_grad():
            accumulate = p.expand_as(p).grad_fn.next_functions[0][0]
        return accumulate.register_hook(accumulated), accumulate  # lives as long as somebody has it

    def anew(self):
        """As before a backward pass."""
        self.arrived, self.future, self.stale, self.reduced = set(), None, False, None

    def accumulated(self, k):
        owner = self.owner()
        if owner is not None and owner.clip != 1:
            raise RuntimeError(
                "backward() after clip_grad_norm_(): what it adds would be clipped, too; call step() or "
                "zero_grad() first"
            )
        self.place(k)
        self.seen = self.grads._version
        if self.future is not None:
            self.stale = True  # it was reduced without this
        elif owner is not None and owner.synchronizes:
            self.arrived.add(k)
            if self.complete():
                owner.launch()

    def complete(self):
        return bool(self.needed) and self.arrived == self.needed

    @torch.no_grad()
    def start(self):
        if self.partial:  # the last pass completes them
            term = self.term()
            while self.partial:
                term = self.partial.pop()[1] + term
            self.grads.copy_(term)
            self.seen = self.grads._version
        self.future = self.owner().pool.submit(self.reduce)

    def term(self):
        """The gradients of a pass, as they cross: so is each sum of passes rounded, here and between ranks."""
        return self.grads.to(self.crosses, copy=True)

    @torch.no_grad()
    def put_aside(self):
        """The gradients become a term of the sums, along the tree of pairs, pairs of pairs, ..."""
        for k in range(len(self.places)):
            self.place(k)
        passes, term = 1, self.term()
        while self.partial and self.partial[-1][0] == passes:
            term, passes = self.partial.pop()[1] + term, 2 * passes
        self.partial.append((passes, term))
        self.grads.zero_()
        self.seen = self.grads._version

    def reduce(self):
        self.reduced = self.owner().reducer(self.kind).done(0, {"g": self.grads, "d": self.total})["d"]

    def done(self):
        if self.future is not None:
            self.future.result()

    @torch.no_grad()
    def place(self, k):
        p, _, view = self.places[k]
        if p.grad is not None and p.grad.layout == torch.strided and p.grad.data_ptr() != view.data_ptr():
            self.stale = self.stale or self.future is not None
            self.done()  # nothing is written that is being reduced
            view.copy_(p.grad)
            p.grad = view  # the next backward pass adds to it where it is

    def take(self):
        """Parameters are views again where load_state_dict(assign=True) or .data = ... has put them
        elsewhere. Whether one was."""
        moved = False
        for p, view, _ in self.places:
            if p.dtype != view.dtype or p.device.type != "cpu":
                raise ValueError(
                    f"parameters of a bucket are {view.dtype} on the CPU, and one of {list(p.shape)} is "
                    f"{p.dtype} on {p.device}: "
                    "make the optimizer after the model has been converted")
            if p.data_ptr() != view.data_ptr():
                view.copy_(p.data)
                p.data = view
                moved = True
        return moved

    def collect(self):
        """Takes parameters and gradients as they are now."""
        self.take()
        if self.seen != self.grads._version and self.grads.any():  # zeros are what Module.zero_grad() leaves
            raise RuntimeError(
                "gradients were changed after backward(); a rank has only its own part of them, so clip with "
                "optimizer.clip_grad_norm_(max_norm), and give other changes by p.grad = ...")
        for k, (p, _, view) in enumerate(self.places):
            if p.grad is None:
                if self.future is not None and k in self.arrived:
                    self.stale = True  # it was taken away
                    self.done()
                view.zero_()
            elif p.grad.layout != torch.strided:
                raise ValueError(
                    f"the gradient of a parameter of {list(p.shape)} is sparse: make it dense (sparse=False)")
            self.place(k)
        self.seen = self.grads._version

    def leave(self):
        for handle, _ in self.hooks:
            handle.remove()
