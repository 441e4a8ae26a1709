"""Tensor programs as operators of PyTorch, torch.ops.chorale.NAME, of the inputs in the order of the program
and the seed: they change those that the program updates, and return the new tensors in the program's order.
They have shapes for tracing (torch.compile, torch.export; in all versions the device "meta"), and gradients
(chorale.gradients); a program without a gradient raises in a backward pass that asks for it."""

import torch

from chorale.gradients import Backward
from chorale.statements import TYPES, NoFormula, Program

_library = None  # of torch.ops.chorale, once there is an operator
TRACED = hasattr(torch.library, "register_autograd")  # PyTorch 2.4


def inputs_of(workload):
    return [row for row in workload.rows if row["input"]]


def new_of(workload):
    """In the order in which the program returns them."""
    order = workload.description["outputs"]
    return sorted((row for row in workload.rows if not row["input"]),
                  key=lambda row: order.index(row["name"]))


def gradients(workload, title, names, values, outputs, cotangents, needing, seed):
    """Of each value, or None. `outputs` are those that are new, by name, as the cotangents."""
    wanted = [name for name, needs in zip(names, needing) if needs]
    try:
        program = Program(workload.meaning, workload.description["tensors"], workload.group)
    except NoFormula as why:
        raise RuntimeError(
            f"{title} has no gradient: there is no formula for {why}; call it under torch.no_grad(), or with "
            f"detached tensors, "
            "where none is needed") from None
    given = dict(zip(names, values))
    sizes = workload.solved({name: value for name, value in given.items() if torch.is_tensor(value)})
    whole = {
        row["name"]: [workload.side(side, sizes) for side in row["shape"]]
        for row in inputs_of(workload)
    }
    found = Backward(program, {
        **given,
        **outputs
    }, whole, dict(zip(workload.description["sizes"], sizes)), seed).gradients(cotangents, wanted)
    return [
        found[name].reshape(value.shape).to(value.dtype) if name in found else None
        for name, value in given.items()
    ]


class _Differentiable(torch.autograd.Function):
    """A run of a program, where PyTorch does not make one of an operator: calls by name, and before 2.4."""

    @staticmethod
    def forward(ctx, workload, title, names, run, seed, *values):
        results = run(*values)
        ctx.of, ctx.numbers = (workload, title, names, seed), [
            None if torch.is_tensor(value) else value for value in values
        ]
        ctx.save_for_backward(*(value for value in values if torch.is_tensor(value)), *results)
        return results

    @staticmethod
    def backward(ctx, *cotangents):
        workload, title, names, seed = ctx.of
        saved = list(ctx.saved_tensors)
        values = [saved.pop(0) if number is None else number for number in ctx.numbers]
        new = [row["name"] for row in new_of(workload)]
        return (None, ) * 5 + tuple(
            gradients(workload, title, names, values, dict(zip(new, saved)), dict(zip(new, cotangents)),
                      ctx.needs_input_grad[5:], seed))


def changed_in_place(workload, title, names, values):
    for name, value in zip(names, values):
        if name in workload.updated and torch.is_tensor(value) and value.requires_grad:
            raise RuntimeError(
                f"{title} changes {name} in place, which requires a gradient: call it under torch.no_grad()")


def differentiable(workload, title, names, values, seed, run=None):
    """What is new, by name, of a run; with a gradient where one may be asked for."""
    new = [row["name"] for row in new_of(workload)]

    def results(*values):
        made = run(*values) if run else workload.done(seed, dict(zip(names, values)))
        return tuple(made[name] for name in new)

    if torch.is_grad_enabled():
        changed_in_place(workload, title, names, values)
    if not new or not torch.is_grad_enabled() or not any(
            torch.is_tensor(value) and value.requires_grad for value in values):
        return dict(zip(new, results(*values)))
    return dict(zip(new, _Differentiable.apply(workload, title, names, results, seed, *values)))


def register(workload, name):
    """The operator. A program of the same name takes the place of none: names are for one program each."""
    global _library
    if _library is None:
        _library = torch.library.Library("chorale", "DEF")
    inputs, made, title = inputs_of(workload), new_of(workload), f"torch.ops.chorale.{name}"
    names = [row["name"] for row in inputs]
    kinds = [
        f"Tensor(a{k}!) {spelled(row['name'])}" if row["name"] in workload.updated else
        f"Tensor {spelled(row['name'])}" if row["shape"] else f"float {spelled(row['name'])}"
        for k, row in enumerate(inputs)
    ]
    results = ["Tensor"] * len(made)
    _library.define(f"{name}({', '.join([*kinds, 'int seed=0'])}) -> " +
                    (results[0] if len(made) == 1 else f"({', '.join(results)})"))

    def split(values):
        return values[:len(inputs)], (*values, 0)[len(inputs)]

    def returned(tensors):
        new = tuple(tensors[row["name"]] for row in made)
        return new[0] if len(new) == 1 else new or None

    def run(*values):
        values, seed = split(values)
        return returned(workload.done(seed, dict(zip(names, values))))

    def fake(*values):
        values, _ = split(values)
        tensors = {name: value for name, value in zip(names, values) if torch.is_tensor(value)}
        sizes, like = workload.solved(tensors), next(iter(tensors.values()))
        return returned({
            row["name"]: like.new_empty(workload.shape(row, sizes), dtype=TYPES[row["type"]])
            for row in made
        })

    operator = getattr(torch.ops.chorale, name)
    _library.impl(name, run, "CUDA" if workload.device != "cpu" else "CPU")
    if TRACED:
        torch.library.register_fake(f"chorale::{name}", fake, lib=_library)
        if not workload.updated:
            traced(workload, title, f"chorale::{name}", names)
        else:
            _library.impl(name, in_place(workload, title, names, operator), "Autograd")
    else:
        _library.impl(name, fake, "Meta")
        _library.impl(name, before_tracing(workload, title, names, operator, split, returned), "Autograd")
    return operator


def spelled(name):
    """An argument of an operator: PyTorch refuses words of Python."""
    return name + "_" if name in ("in", "is", "if", "or", "and", "not", "for", "def", "class", "lambda",
                                  "from", "self", "None", "True", "False") else name


def traced(workload, title, qualified, names):
    """The gradient of an operator that changes nothing, as PyTorch can trace it."""
    new = [row["name"] for row in new_of(workload)]

    def setup_context(ctx, inputs, output):
        values, ctx.seed = inputs[:-1], inputs[-1]
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.numbers = [None if torch.is_tensor(value) else value for value in values]
        ctx.save_for_backward(*(value for value in values if torch.is_tensor(value)), *outputs)

    def backward(ctx, *cotangents):
        saved = list(ctx.saved_tensors)
        values = [saved.pop(0) if number is None else number for number in ctx.numbers]
        return (*gradients(workload, title, names, values, dict(zip(new, saved)), dict(zip(new, cotangents)),
                           ctx.needs_input_grad, ctx.seed), None)

    torch.library.register_autograd(qualified, backward, setup_context=setup_context, lib=_library)


def below(operator, *values):
    """The kernel of the device: Chorale's, that for shapes, or a tracer's."""
    guard = torch._C._AutoDispatchBelowAutograd()  # before PyTorch 2 no context manager
    try:
        return operator(*values)
    finally:
        del guard


def in_place(workload, title, names, operator):
    """An operator that changes its inputs has no gradient, and refuses inputs that require one."""
    def run(*values):
        if torch.is_grad_enabled():
            changed_in_place(workload, title, names, values)
            if any(torch.is_tensor(value) and value.requires_grad for value in values):
                raise RuntimeError(
                    f"{title} changes its inputs, and has no gradient: call it under torch.no_grad()")
        return below(operator, *values)

    return run


def before_tracing(workload, title, names, operator, split, returned):
    def run(*values):
        values, seed = split(values)

        def made(*values):
            results = below(operator, *values, seed)
            results = results if isinstance(results, tuple) else (results,)
            return dict(zip((row["name"] for row in new_of(workload)), results))

        return returned(differentiable(workload, title, names, list(values), seed, made))

    return run
