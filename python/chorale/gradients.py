"""Gradients of tensor programs: the derivative of a program's statements, from the last to the first, in
operations of PyTorch.

A gradient has the layout of its tensor: all of it on every rank (Replicated), a rank's part (Sliced), or a
rank's own (Local). So the gradient of an AllReduce is the identity, of an AllGather a slice, of a
ReduceScatter an AllGather. What reads a replicated tensor for a rank's own result has a part of its gradient
only: those of all ranks are added, as Megatron-LM's f does (Shoeybi et al., 2019). A loss is that of every
rank, computed from replicated results, and not a sum over ranks.

Values are computed only where a derivative needs them, and those that the program has returned are kept: so
bias, dropout and residual behind an AllReduce send nothing again."""

import ast
import math

import torch

from chorale.exchanges import Exchanges, part
from chorale.statements import FUNCTIONS, MOVES, TYPES, call_of, name_of, names_in, source_of, stored, wide


def derivative_of_tanh(x):
    return 1 - torch.tanh(x) ** 2


DERIVATIVES = {
    "Sqrt": lambda x: 0.5 / torch.sqrt(x),
    "Exp": torch.exp,
    "Log": lambda x: 1 / x,
    "Tanh": derivative_of_tanh,
    "Abs": torch.sign
}


def philox(seed, stream, index):
    """The numbers of random_at() in runtime/device/epilogue.h: Philox 4x32-10, on 64-bit integers."""
    low = 0xffffffff
    c0, c1 = index & low, (index >> 32) & low
    c2, c3 = torch.full_like(index, stream), torch.zeros_like(index)
    k0, k1 = seed & low, (seed >> 32) & low

    def product(factor, x):  # the upper and the lower half
        upper, lower = factor * (x >> 16), factor * (x & 0xffff)
        lower = lower + ((upper & 0xffff) << 16)
        return ((upper >> 16) + (lower >> 32)) & low, lower & low

    for _ in range(10):
        (a_high, a_low), (b_high, b_low) = product(0xd2511f53, c0), product(0xcd9e8d57, c2)
        c0, c1, c2, c3 = b_high ^ c1 ^ k0, b_low, a_high ^ c3 ^ k1, a_low
        k0, k1 = (k0 + 0x9e3779b9) & low, (k1 + 0xbb67ae85) & low
    return (c0 >> 8).to(torch.float32) * (1.0 / 16777216)


random_numbers = philox
if hasattr(torch.library, "register_fake"):  # an operator, since compilers take minutes for its ten rounds
    _library = torch.library.Library("chorale", "FRAGMENT")
    _library.define("random_numbers(int seed, int stream, Tensor index) -> Tensor")
    _library.impl("random_numbers", philox, "CompositeExplicitAutograd")
    torch.library.register_fake("chorale::random_numbers",
                                lambda seed, stream, index: torch.empty_like(index, dtype=torch.float32),
                                lib=_library)
    random_numbers = torch.ops.chorale.random_numbers


def fitted(x, shape):
    """The sum over what was broadcast to x from this shape."""
    return x if list(x.shape) == list(shape) else x.sum_to_size(shape)


class Backward:
    """Of one run of a program: `tensors` are its inputs and outputs on this rank, `whole` the shapes of
    inputs on all, and `sizes` the numbers that sizes are."""

    def __init__(self, program, tensors, whole, sizes, seed):
        self.trees, self.layouts, self.seed = dict(program.statements), program.layouts, seed
        self.order = [name for name, _ in program.statements]
        self.exchanges = Exchanges(program.group)
        self.whole, self.values, self.parts = dict(whole), dict(sizes), {}
        for name in self.order:
            self.shape(name)
        for name, value in tensors.items():
            self.values[name] = value.reshape(self.own(name)) if torch.is_tensor(value) else value

    # Shapes.
    def shape(self, name):
        tree, call = self.trees[name], call_of(self.trees[name])
        if call == "MatMul":
            left, right = (self.whole[name_of(each)] for each in tree.args)
            self.whole[name] = [*left[:-1], right[-1]]
        elif call == "ReduceTensor":
            self.whole[name] = []
        elif call == "ReduceAlong":
            self.whole[name] = list(self.whole[source_of(tree)])
            self.whole[name][tree.args[2].value] = 1
        elif call == "AllToAllV":
            self.whole[name] = [self.side(tree.args[2]), *self.whole[source_of(tree)][1:]]
        elif call in MOVES:
            self.whole[name] = self.whole[source_of(tree)]
        else:
            shapes = [self.whole[each] for each in names_in(tree) if each in self.whole]
            self.whole[name] = list(torch.broadcast_shapes(*shapes)) if shapes else []

    def side(self, node):
        """Of a product of numbers and sizes."""
        if isinstance(node, ast.BinOp):
            return self.side(node.left) * self.side(node.right)
        return node.value if isinstance(node, ast.Constant) else self.values[name_of(node)]

    def own(self, name):
        """The shape of a rank's part."""
        shape, (kind, dim) = list(self.whole[name]), self.layouts[name]
        if kind == "Sliced" and dim == "flat":
            return [part(math.prod(shape), self.exchanges.ranks, self.exchanges.rank)[1]]
        if kind == "Sliced":
            shape[dim] = part(shape[dim], self.exchanges.ranks, self.exchanges.rank)[1]
        return shape

    # Values.
    def value(self, name):
        if name not in self.values:
            self.values[name] = self.computed(name)
        return self.values[name]

    def computed(self, name):
        tree, call = self.trees[name], call_of(self.trees[name])
        if call == "MatMul":
            return torch.matmul(*(self.value(name_of(each)) for each in tree.args))
        if call not in MOVES:
            return self.evaluated(tree, name)
        x = self.value(source_of(tree))
        if call == "AllGather":
            return self.gathered(x, source_of(tree))
        if call == "AllToAll":
            return self.exchanges.all_to_all(x)
        if call == "AllToAllV":
            return self.exchanges.all_to_all_v(x, self.value(name_of(tree.args[1])), self.whole[name][0])
        if call == "Slice":
            return self.exchanges.cut(x, self.layouts[name][1])
        if call == "ReduceTensor":
            return x.sum()
        if call == "ReduceAlong":  # added up in fp64
            return x.sum(tree.args[2].value, keepdim=True, dtype=torch.float64).to(x.dtype)
        total = self.exchanges.all_reduce(x)
        return total if call == "AllReduce" else self.exchanges.cut(total, self.layouts[name][1])

    def gathered(self, x, source):
        """The whole of the slices of a tensor."""
        whole, dim = self.whole[source], self.layouts[source][1]
        if dim == "flat":
            return self.exchanges.gather(x.reshape(-1), 0, math.prod(whole)).reshape(whole)
        return self.exchanges.gather(x, dim, whole[dim])

    def cuts(self, operand, name):
        """Along which dimension the statement `name` reads its slice of a replicated operand, if it does."""
        (kind, dim), shape = self.layouts[name], self.whole[operand]
        if kind != "Sliced" or self.layouts[operand][0] != "Replicated":
            return None
        return dim if dim == "flat" or len(shape) >= -dim and shape[dim] != 1 else None

    def operand(self, operand, name):
        """A rank's elements of it that a statement reads, in the type in which it computes."""
        if operand == "RANK":
            return self.exchanges.rank
        if operand in ("WORLD", "GROUP"):
            return self.exchanges.ranks if operand == "WORLD" else 0
        x = self.value(operand)
        if not torch.is_tensor(x):
            return x
        x = x.to(wide(x.dtype))
        dim = self.cuts(operand, name)
        if dim is None:
            return x
        return self.exchanges.cut(x.expand(self.whole[name]) if dim == "flat" else x, dim)

    def index(self, name):
        """Of a rank's elements, in the whole tensor."""
        whole, (_, dim) = self.whole[name], self.layouts[name]
        index = torch.arange(math.prod(whole), device=self.device()).reshape(whole)
        return index if dim is None else self.exchanges.cut(index, dim)

    def device(self):
        """Of the tensors: scalars may be on the host."""
        tensors = [each for each in self.values.values() if torch.is_tensor(each)]
        return max(tensors, key=lambda each: each.dim() > 0).device

    def evaluated(self, node, name):
        def value(node):
            return self.evaluated(node, name)

        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.operand(name_of(node), name)
        if isinstance(node, ast.UnaryOp):
            return -value(node.operand) if isinstance(node.op, ast.USub) else value(node.operand)
        if isinstance(node, ast.BinOp):
            a, b = value(node.left), value(node.right)
            return {
                ast.Add: lambda: a + b,
                ast.Sub: lambda: a - b,
                ast.Mult: lambda: a * b,
                ast.Div: lambda: a / b
            }[type(node.op)]()
        if isinstance(node, ast.Compare):
            a, b = value(node.left), value(node.comparators[0])
            return 1.0 * {
                ast.Lt: lambda: a < b,
                ast.LtE: lambda: a <= b,
                ast.Gt: lambda: a > b,
                ast.GtE: lambda: a >= b,
                ast.Eq: lambda: a == b
            }[type(node.ops[0])]()
        call = call_of(node)
        if call == "Random":
            return random_numbers(self.seed, node.args[0].value, self.index(name))
        if call == "Cast":
            x, kind = value(node.args[1]), TYPES[name_of(node.args[0])]
            return stored(x, kind).to(wide(kind)) if torch.is_tensor(x) else x
        values = [value(each) for each in node.args]
        like = next((each for each in values if torch.is_tensor(each)), None)
        values = [
            each if torch.is_tensor(each) else torch.as_tensor(
                each, dtype=torch.float32 if like is None else like.dtype, device=self.device())
            for each in values
        ]
        return FUNCTIONS[call](*values)

    # Derivatives, from the last statement to the first.
    def gradients(self, cotangents, wanted):
        needing = set(wanted)
        for name in self.order:
            if names_in(self.trees[name]) & needing:
                needing.add(name)
        for name, gradient in cotangents.items():
            if gradient is not None:
                self.add(name, "all", gradient.reshape(self.own(name)))
        for name in reversed(self.order):
            if name in needing and name in self.parts:
                self.statement(name, needing)
        result = {}
        for name in wanted:
            gradient = self.gradient(name)
            if gradient is not None:
                result[name] = gradient
        return result

    def add(self, name, how, gradient):
        """`how`: "all" of it; "some", of which other ranks have the rest; ("cut", d), a slice of it."""
        parts = self.parts.setdefault(name, {})
        gradient = gradient.to(wide(gradient.dtype))
        parts[how] = parts[how] + gradient if how in parts else gradient

    def gradient(self, name):
        parts = self.parts.pop(name, {})
        total = None
        for how, each in parts.items():
            if how == "some":
                each = self.exchanges.all_reduce(each)
            elif how != "all":
                whole, dim = self.whole[name], how[1]
                each = (self.exchanges.gather(each, 0, math.prod(whole))
                        if dim == "flat" else self.exchanges.gather(each, dim, whole[dim])).reshape(whole)
            total = each if total is None else total + each
        return total

    def statement(self, name, needing):
        tree, call = self.trees[name], call_of(self.trees[name])
        gradient = self.gradient(name)
        if call == "MatMul":
            return self.product(name, tree, gradient, needing)
        if call not in MOVES:
            return self.pointwise(name, tree, gradient, needing)
        source = source_of(tree)
        if call == "AllGather":
            gradient = self.exchanges.cut(gradient, self.layouts[source][1])
        elif call == "AllToAll":
            gradient = self.exchanges.all_to_all(gradient)
        elif call == "AllToAllV":  # rows go back to where they came from
            back = self.exchanges.all_to_all(self.value(name_of(tree.args[1])))
            gradient = self.exchanges.all_to_all_v(gradient, back, self.whole[source][0])
        elif call in ("ReduceScatter", "Slice"):
            gradient = self.gathered(gradient, name)
        elif call in ("ReduceTensor", "ReduceAlong"):
            gradient = gradient.expand(self.own(source))
        self.add(source, "all", gradient)

    def owed(self, operand, name):
        """What a rank has of the gradient of an operand."""
        return "some" if self.layouts[operand][0] == "Replicated" and self.layouts[name][
            0] != "Replicated" else "all"

    def product(self, name, tree, gradient, needing):
        left, right = (name_of(each) for each in tree.args)
        for operand, other in ((left, right), (right, left)):
            if operand not in needing:
                continue
            factor = self.value(other)
            made = gradient.to(factor.dtype)
            if operand == left:
                made = torch.matmul(made, factor.transpose(-1, -2))
            elif len(self.whole[right]) == 2:
                made = torch.matmul(factor.flatten(0, -2).t(), made.flatten(0, -2))
            else:
                made = torch.matmul(factor.transpose(-1, -2), made)
            self.add(operand, self.owed(operand, name), made)

    def pointwise(self, name, tree, gradient, needing):
        def give(operand, gradient):
            dim, shape = self.cuts(operand, name), self.own(operand)
            if dim == "flat" and list(self.whole[operand]) != list(
                    self.whole[name]):  # it was broadcast, and cut
                whole = self.exchanges.gather(
                    gradient.expand(self.own(name)).reshape(-1), 0, math.prod(self.whole[name]))
                self.add(operand, "all", fitted(whole.reshape(self.whole[name]), shape))
            elif dim is None:
                self.add(operand, self.owed(operand, name), fitted(gradient.expand(self.own(name)), shape))
            else:
                if dim != "flat":
                    shape[dim] = part(shape[dim], self.exchanges.ranks, self.exchanges.rank)[1]
                self.add(operand, ("cut", dim),
                         fitted(gradient.expand(self.own(name)), gradient.shape if dim == "flat" else shape))

        def value(node):
            return self.evaluated(node, name)

        def down(node, gradient):
            """On to what the node is made of."""
            if not names_in(node) & needing:
                return
            if isinstance(node, ast.Name):
                give(name_of(node), gradient)
            elif isinstance(node, ast.UnaryOp):
                down(node.operand, -gradient if isinstance(node.op, ast.USub) else gradient)
            elif isinstance(node, ast.BinOp):
                a, b, kind = node.left, node.right, type(node.op)
                if kind in (ast.Add, ast.Sub):
                    down(a, gradient)
                    down(b, gradient if kind is ast.Add else -gradient)
                elif kind is ast.Mult:
                    for one, other in ((a, b), (b, a)):
                        if names_in(one) & needing:
                            down(one, gradient * value(other))
                else:
                    down(a, gradient / value(b))
                    if names_in(b) & needing:
                        down(b, -gradient * value(a) / value(b) ** 2)
            elif isinstance(node, ast.Call):
                function(node, gradient)

        def function(node, gradient):
            call, args = call_of(node), node.args
            if call == "Cast":
                down(args[1], gradient)
            elif call == "Select":
                condition = value(args[0])
                condition = condition != 0 if torch.is_tensor(condition) else torch.tensor(
                    bool(condition), device=gradient.device)
                zero = torch.zeros((), dtype=gradient.dtype, device=gradient.device)
                down(args[1], torch.where(condition, gradient, zero))
                down(args[2], torch.where(condition, zero, gradient))
            elif call in ("Min", "Max"):
                a, b = value(args[0]), value(args[1])
                first = (a > b if call == "Max" else a < b)
                tie = a == b
                for each, share in ((args[0], first + 0.5 * tie), (args[1], 1 - (first + 0.5 * tie))):
                    constant = isinstance(args[1],
                                          ast.Constant)  # ReLU(0) has the derivative 0, as PyTorch has it
                    down(each,
                         gradient * (first.to(gradient.dtype) if constant and each is args[0] else share))
            elif call == "Pow":
                base, exponent = value(args[0]), value(args[1])
                down(args[0], gradient * exponent * base ** (exponent - 1))
                if names_in(args[1]) & needing:
                    down(args[1], gradient * value(node) * torch.log(base))
            elif call in DERIVATIVES:
                down(args[0], gradient * DERIVATIVES[call](value(args[0])))

        down(tree, gradient)
