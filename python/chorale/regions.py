"""Regions of a graph of PyTorch that are one tensor program: a collective, the products before or behind it,
and the pointwise operations and norms behind it.

    product -> AllReduce -> pointwise, norms              AllGather -> products -> pointwise
    product -> ReduceScatter -> pointwise, norms -> AllGather

The layouts are those that hold whatever ranks have: a factor is Local, an operand of the shape of a slice is
a slice. Operands of what is behind an AllReduce are declared Replicated only if all ranks are known to have
the same: results of collectives, inputs that are named or are replicated DTensors, and what the same
operations with the same constants make of such alone, on all ranks (known_alike). Others are Local, and so is
what is made of them."""

import hashlib
import operator
import re

import torch

aten, c10d = torch.ops.aten, torch.ops._c10d_functional
NAMES = {torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
VIEWS = {
    aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.alias.default,
    aten.detach.default, aten.clone.default,
    aten.contiguous.default if hasattr(aten, "contiguous") else aten.alias.default
}
COLLECTIVES = {
    c10d.all_reduce.default: "AllReduce",
    c10d.reduce_scatter_tensor.default: "ReduceScatter",
    c10d.all_gather_into_tensor.default: "AllGather"
}
# Of the dispatch and the combination of experts, which no region has.
EXCHANGES = {c10d.all_to_all_single.default}


def sigmoid(x):
    return f"1 / (1 + Exp(-({x})))"


def gelu(x):
    return f"0.5 * {x} * (1 + Tanh(0.7978845608028654 * ({x} + 0.044715 * {x} * {x} * {x})))"


# Of operations with tensors and numbers alone: the text of an expression.
POINTWISE = {
    aten.add.Tensor: lambda a, b, alpha=1: f"{a} + {b}" if alpha == 1 else f"{a} + {alpha!r} * {b}",
    aten.sub.Tensor: lambda a, b, alpha=1: f"{a} - {b}" if alpha == 1 else f"{a} - {alpha!r} * {b}",
    aten.mul.Tensor: lambda a, b: f"{a} * {b}",
    aten.div.Tensor: lambda a, b: f"{a} / {b}",
    aten.add.Scalar: lambda a, b, alpha=1: f"{a} + {alpha!r} * {b}",
    aten.sub.Scalar: lambda a, b, alpha=1: f"{a} - {alpha!r} * {b}",
    aten.mul.Scalar: lambda a, b: f"{a} * {b}",
    aten.div.Scalar: lambda a, b: f"{a} / {b}",
    aten.neg.default: lambda a: f"-{a}",
    aten.relu.default: lambda a: f"Max({a}, 0)",
    aten.tanh.default: lambda a: f"Tanh({a})",
    aten.exp.default: lambda a: f"Exp({a})",
    aten.sqrt.default: lambda a: f"Sqrt({a})",
    aten.rsqrt.default: lambda a: f"1 / Sqrt({a})",
    aten.abs.default: lambda a: f"Abs({a})",
    aten.sigmoid.default: sigmoid,
    aten.silu.default: lambda a: f"{a} / (1 + Exp(-{a}))",
    aten.pow.Tensor_Scalar: lambda a, b: f"Pow({a}, {b})",
    aten.maximum.default: lambda a, b: f"Max({a}, {b})",
    aten.minimum.default: lambda a, b: f"Min({a}, {b})",
    aten.threshold_backward.default: lambda g, x, t: f"Select({x} <= {t}, 0, {g})",
    aten.tanh_backward.default: lambda g, y: f"{g} * (1 - {y} * {y})",
    aten.sigmoid_backward.default: lambda g, y: f"{g} * {y} * (1 - {y})",
}
# Of operations that reduce rows: the text of a statement of x and its last dimension.
ROWS = {
    aten.mean.dim: "Mean({}, {})",
    aten.sum.dim_IntList: 'ReduceAlong("+", {}, {})',
    aten.amax.default: 'ReduceAlong("max", {}, {})'
}


PRODUCTS = (aten.mm.default, aten.addmm.default)
CONVERSIONS = (aten._to_copy.default, torch.ops.prims.convert_element_type.default)


def shape_of(node):
    """Or None, where it is not one of numbers."""
    value = node.meta.get("val")
    if not torch.is_tensor(value) or not all(isinstance(side, int) for side in value.shape):
        return None
    return list(value.shape)


def source(node):
    """Where a chain of views, each read by the next alone, begins; and the chain."""
    chain = []
    while isinstance(node, torch.fx.Node) and node.target in VIEWS and len(node.users) == 1:
        chain.append(node)
        node = node.args[0]
    return node, chain


def moved(node, begin, end, ranks):
    """What has its parts along dimension `begin` put behind each other along `end`: split, and cat. The
    tensor, and the nodes."""
    if node.target is not aten.cat.default or (node.args[1] if len(node.args) > 1 else 0) != end:
        return None
    parts = node.args[0]
    if len(parts) != ranks or any(each.target is not operator.getitem or each.args[1] != k
                                  for k, each in enumerate(parts)):
        return None
    split = parts[0].args[0]
    if split.target is not aten.split.Tensor or any(
            each.args[0] is not split
            for each in parts) or (split.args[2] if len(split.args) > 2 else 0) != begin:
        return None
    return split.args[0], [*parts, split]


class Left(Exception):
    """Why a collective or an operation is left alone. `operand`: a node that is not known to be the same on
    all ranks; `change`: what of a model would change it."""

    def __init__(self, why="", change="", operand=None):
        super().__init__(why)
        self.change, self.operand, self.node = change, operand, None


class Rows(int):
    """A number of rows that is R in the text of a program, which is for other numbers, too."""

    def __str__(self):
        return "R"


class Region:
    """`operands`: names, nodes, shapes and layouts; `lines`: statements; `results`: names, nodes. If it is
    `sized`, its rows behind an AllReduce are a size of its program."""

    def __init__(self, collective, known, sized=False):
        if collective.target in EXCHANGES:
            raise Left(
                "rows go to ranks by counts, and products of experts between two such exchanges are in no region",
                "moe = chorale.workload.load('examples/moe_top2.chorale').register(): the gate, both exchanges and "
                "the experts as one operator, moe(x, router, w1, w2)"
            )
        self.sized = sized
        self.collective, self.kind, self.known = collective, COLLECTIVES[collective.target], known
        self.group = collective.args[-1]
        self.ranks = torch.distributed.get_world_size(
            torch.distributed.distributed_c10d._resolve_process_group(self.group))
        self.nodes, self.operands, self.lines, self.names, self.words = [], {}, [], {}, []
        self.notes, self.own = [], {}  # what is left outside; operands that may be each rank's own
        waits = list(collective.users)
        if len(waits) != 1 or waits[0].target is not c10d.wait_tensor.default:
            raise Left("its result is read before it is waited for")
        self.wait = waits[0]
        if self.kind != "AllGather" and collective.args[1] not in ("sum", "avg"):
            raise Left(f"it is a {collective.args[1]}, and not a sum")
        if self.ranks < 2:
            raise Left("its group has one rank")
        for node in (collective, self.wait):
            if shape_of(node) is None:
                raise Left("its sizes are not numbers (dynamic=True)")
        if len(shape_of(self.wait)) < (1 if self.kind == "AllReduce" else 2):
            raise Left("it has too few dimensions")
        if self.wait.meta["val"].dtype not in NAMES:
            raise Left(f"its elements are {self.wait.meta['val'].dtype}")
        (self.gathered if self.kind == "AllGather" else self.reduced)()
        self.results = [(name, node) for node, name in self.names.items()
                        if any(user not in self.names and user not in self.nodes for user in node.users)]

    def take(self, node, name, line=None):
        self.names[node] = name
        if line:
            self.lines.append(f"{name} = {line}")

    def statement(self, line):
        """The name of what a statement makes."""
        name = f"x{len(self.lines)}"
        self.lines.append(f"{name} = {line}")
        return name

    def operand(self, node, shape, layout):
        for name, (other, *have) in self.operands.items():
            if other is node and have == [shape, layout]:
                return name
        if node.meta["val"].dtype not in NAMES:
            raise Left(f"an operand is {node.meta['val'].dtype}")
        name = f"in{len(self.operands)}"
        self.operands[name] = (node, shape, layout)
        return name

    def product(self, node):
        """Both factors, and what is added, or None."""
        bias, (a, b) = (node.args[0],
                        node.args[1:3]) if node.target is aten.addmm.default else (None, node.args[:2])
        if node.kwargs.get("alpha", 1) != 1 or node.kwargs.get("beta", 1) != 1:
            raise Left("its product is scaled")
        return a, b, bias

    def reduced(self):
        c, ranks = self.collective, self.ranks
        node = c.args[0]
        self.cut = None if self.kind == "AllReduce" else 0
        found = moved(node, 1, 0, ranks) if self.kind == "ReduceScatter" and len(node.users) == 1 else None
        whole = shape_of(c.args[0])
        if found:
            whole, self.cut = shape_of(found[0]), 1
        rows = torch.Size(whole[:-1]).numel()
        rows = Rows(rows) if self.sized and self.cut is None else rows
        self.whole = whole if self.cut == 1 else [rows, whole[-1]]
        self.biases = []
        layer = self.summand(found[0] if found else c.args[0], [c.args[0], *found[1]] if found else [])
        if not self.words:
            layer = self.operand(found[0] if found else c.args[0], self.whole, "Local")
            self.nodes += [c.args[0], *found[1]] if found else []
        dim = "" if self.kind == "AllReduce" else f", {self.cut}"
        self.words.append({"AllReduce": "all_reduce", "ReduceScatter": "reduce_scatter"}[self.kind])
        self.nodes += [c]
        made = f'{self.kind}("+", {layer}{dim})'
        if self.biases or c.args[1] == "avg":
            self.lines.append(f"total = {made}")
            made = " + ".join(["total", *self.biases])
            made = f"({made}) / {ranks}" if c.args[1] == "avg" else made
        self.take(self.wait, "sum", made)
        self.behind()
        if self.kind == "ReduceScatter":
            self.gather_behind()
        if len(self.words) == 1:
            made = source(node)[0]
            others = [each for each in made.users if each is not c and each.target not in VIEWS]
            change = f"the product is also read in {name_of(others[0])}: sum it behind that" if others and \
                made.target in PRODUCTS else ""
            why = f"what it sums is of {name_of(made)}, and of no product that nothing else reads"
            raise Left("; ".join([why, *map(str, self.notes or ["nothing pointwise follows"])]), change)

    def summand(self, node, chain=()):
        """What is summed over the ranks, if it is a product, or a sum with one in it: its name in the
        program, else None."""
        node, views = source(node)
        chain = [*chain, *views]
        if len(node.users) != 1:
            return None
        if node.target in PRODUCTS:
            a, b, bias = self.product(node)
            inner, name = shape_of(a)[1], f"layer{len(self.lines)}"
            self.words.append("mm")
            self.lines.append(
                f"{name} = MatMul({self.operand(a, [*self.whole[:-1], inner], 'Local')}, "
                f"{self.operand(b, [inner, self.whole[-1]], 'Local')})"
            )
            if bias is not None:
                self.biases.append(self.bias(bias))
        elif node.target is aten.add.Tensor and not node.kwargs and all(
                isinstance(each, torch.fx.Node) and shape_of(each) == shape_of(node) for each in node.args):
            made = [self.summand(each) for each in node.args]
            if not any(made):
                return None
            name = f"layer{len(self.lines)}"
            self.words.append("add")
            self.lines.append(f"{name} = " +
                              " + ".join(each or self.operand(node.args[k], self.whole, "Local")
                                         for k, each in enumerate(made)))
        else:
            return None
        self.nodes += [*chain, node]
        return name

    def bias(self, bias):
        """What is added to the product of each rank, summed over them: a part of what all of them have is
        that."""
        if bias.target is aten.div.Tensor and bias.args[1] == self.ranks and bias.args[
                0] in self.known and shape_of(bias) == [self.whole[-1]]:
            return self.operand(bias.args[0], [self.whole[-1]], "Replicated")
        if shape_of(bias) != [self.whole[-1]]:
            raise Left("its product adds more than a row")
        self.lines.append(
            f'bias{len(self.lines)} = AllReduce("+", {self.operand(bias, [self.whole[-1]], "Local")})')
        return self.lines[-1].partition(" ")[0]

    def fits(self, node, operand):
        """The shape and the layout of an operand of an operation behind the collective; or why not."""
        shape = shape_of(operand)
        if shape is None or operand.meta["val"].dtype not in NAMES:
            raise Left(
                f"{name_of(node)} reads "
                f"{operand.meta['val'].dtype if shape is not None else 'a tensor of dynamic sizes'}"
            )
        rows, columns = torch.Size(shape[:-1]).numel(), shape[-1] if shape else 1
        is_whole = bool(shape) and rows == self.own_rows()
        if not is_whole and rows != 1:
            raise Left(f"{name_of(node)} reads a tensor of {shape}")
        declared = [*self.whole[:-1], columns] if is_whole else [columns]
        if self.kind == "AllGather":
            return declared, "Local"
        if self.cut is not None and is_whole:
            return declared, f"Sliced({self.cut})"
        if operand in self.known:
            return declared, "Replicated"
        why = Left(
            f"{name_of(node)} reads {operand.name}, which is not known to be the same on all ranks",
            operand=operand)
        if self.cut is not None:
            raise why
        self.own[operand], why.node = why, node
        return declared, "Local"

    def own_rows(self):
        """How many rows of what is behind the collective a rank has."""
        own = list(self.whole[:-1])
        if self.kind != "AllGather" and self.cut is not None:
            own[self.cut] //= self.ranks
        return torch.Size(own).numel()

    def behind(self):
        """Operations on rows, in the order of the graph."""
        self.later = set()
        for node in list(self.collective.graph.nodes):
            inputs = node.all_input_nodes
            if node in self.names or node in self.nodes or not any(each in self.names or each in self.later
                                                                   for each in inputs):
                continue
            kept = dict(self.operands), list(self.lines), dict(self.own)
            try:
                if node.op != "call_function" or any(each in self.later for each in inputs):
                    raise Left
                self.add(node)
            except Left as why:
                self.operands, self.lines, self.own = kept
                self.later.add(node)
                if str(why) and node.target not in VIEWS:
                    why.node = node
                    self.notes.append(why)

    def add(self, node):
        made = shape_of(node)
        if node.target is operator.getitem:
            return self.take(node, self.names[node.args[0]][node.args[1]])
        if node.target in VIEWS and not node.kwargs:
            if not made or made[-1:] != shape_of(node.args[0])[-1:]:
                raise Left
            return self.take(node, self.names[node.args[0]])
        if self.kind == "AllGather" and node.target in PRODUCTS:
            self.names[node] = self.gathered_product(node)
        else:
            self.names[node] = self.of_rows(node) or self.pointwise(node, made)
        if node.target not in CONVERSIONS:
            self.words.append(name_of(node))

    def pointwise(self, node, made):
        expression = POINTWISE.get(node.target)
        if node.target is aten.gelu.default:
            if node.kwargs.get("approximate") != "tanh":
                raise Left("gelu has no counterpart", "gelu(.., approximate='tanh')")
            expression = lambda x, approximate: gelu(x)  # noqa: E731
        if node.target in CONVERSIONS and set(node.kwargs) <= {"dtype", "layout", "device"}:
            expression = lambda x, *_, **__: f"Cast({NAMES[node.meta['val'].dtype]}, {x})"  # noqa: E731
        if expression is None:  # what moves elements, products and collectives follow everywhere
            is_missed = torch.Tag.pointwise in getattr(node.target, "tags", ()) or re.search(
                "norm|dropout", name_of(node))
            raise Left(f"{name_of(node)} has no counterpart" if is_missed else "")
        if made is None or node.meta["val"].dtype not in NAMES or torch.Size(
                made[:-1]).numel() != self.own_rows():
            raise Left(f"{name_of(node)} makes a tensor of another shape or type")
        if all(self.names.get(each) == "whole" for each in node.all_input_nodes):
            raise Left  # of what is gathered alone: that is no part of a product
        args = [each if isinstance(each, torch.dtype) else self.text(node, each) for each in node.args]
        return self.statement(expression(*args, **node.kwargs))

    def of_rows(self, node):
        """The name, or names, of what an operation makes of the elements of each row; None of others."""
        if node.target not in ROWS and node.target not in (aten.native_layer_norm.default,
                                                           aten.var_mean.correction):
            return None
        x, last = node.args[0], len(self.whole) - 1
        if self.names.get(x, "whole") == "whole":
            return None
        name = self.names[x]
        if node.target is aten.native_layer_norm.default:
            if len(node.args[1]) != 1 or node.meta["val"][1].dtype != x.meta["val"].dtype:
                return None
            mean, variance = self.moments(name, last)
            root = self.statement(f"1 / Sqrt({variance} + {node.args[4]!r})")
            made = f"({name} - {mean}) * {root}"
            for sign, each in zip("*+", node.args[2:4]):
                made += f" {sign} {self.text(node, each)}" if each is not None else ""
            return [self.statement(made), mean, root]
        options = {"keepdim": False, **dict(zip(("dim", "keepdim"), node.args[1:])), **node.kwargs}
        if list(options.get("dim") or ()) not in ([x.meta["val"].dim() - 1], [-1]) or not options["keepdim"]:
            return None
        kind, is_wide = NAMES[x.meta["val"].dtype], x.meta["val"].dtype.itemsize >= 4
        if node.target in ROWS and set(options) == {"dim", "keepdim"}:
            made = ROWS[node.target].format(name, last)
            return self.statement(made if is_wide else f"Cast({kind}, {made})")
        return self.moments(name, last)[::-1] if is_wide and options.get("correction") == 0 else None

    def moments(self, name, last):
        """The names of mean and variance of rows."""
        mean = self.statement(f"Mean({name}, {last})")
        return [mean, self.statement(f"Mean(({name} - {mean}) * ({name} - {mean}), {last})")]

    def text(self, node, arg):
        if isinstance(arg, torch.fx.Node):
            return self.names[arg] if arg in self.names else self.operand(arg, *self.fits(node, arg))
        if isinstance(arg, (int, float)) and not isinstance(arg, bool) and abs(arg) < 1e30:
            return repr(arg) if arg >= 0 else f"({arg!r})"
        raise Left(f"{name_of(node)} has {arg!r}")

    def gather_behind(self):
        """An AllGather of the last of them, if it has it to itself."""
        for node in list(self.later):
            if node.target is c10d.all_gather_into_tensor.default and node.args[
                    2] == self.group and node.args[0] in self.names and self.cut == 0:
                waits = list(node.users)
                if len(waits) == 1 and waits[0].target is c10d.wait_tensor.default:
                    self.nodes.append(node)
                    self.words.append("all_gather")
                    self.take(waits[0], "whole", f"AllGather({self.names[node.args[0]]})")
                    return

    def gathered(self):
        """AllGather, the products that read it, and what is pointwise behind them."""
        c, node, cut = self.collective, self.wait, 0
        shape = shape_of(c.args[0])
        rows = [torch.Size(shape[:-1]).numel() * self.ranks, shape[-1]]
        users = list(node.users)
        self.nodes.append(c)
        if len(users) == 1 and users[0].target is aten.split.Tensor:
            cat = next(iter(next(iter(users[0].users)).users), None)
            found = moved(cat, 0, 1, self.ranks) if cat is not None else None
            if found and found[0] is node:
                self.nodes += [*found[1], node]
                node, cut = cat, 1
                rows = shape_of(cat)
        if len(rows) != 3:
            rows = [torch.Size(rows[:-1]).numel(), rows[-1]]
        self.whole, self.cut = rows, cut
        self.words.append("all_gather")
        self.take(node, "whole", f"AllGather({self.operand(c.args[0], rows, f'Sliced({cut})')})")
        self.behind()
        if len(self.words) == 1:
            raise Left("no product reads its rows")

    def gathered_product(self, node):
        a, b, bias = self.product(node)
        if self.names.get(a) != "whole" or b in self.names or bias in self.names:
            raise Left
        inner, columns = shape_of(b)
        if bias is not None and shape_of(bias) != [columns]:
            raise Left("its product adds more than a row")
        made = self.statement(f"MatMul(whole, {self.operand(b, [inner, columns], 'Local')})")
        return made if bias is None else self.statement(
            f"{made} + {self.operand(bias, [columns], 'Local')}")

    def program(self):
        """The text, the nodes of its operands, and of each result the name and the nodes that are it."""
        results = {}
        for name, node in self.results:
            results.setdefault(name, []).append(node)
        if not results:
            raise Left("nothing reads it")
        declared = "".join(
            f"Tensor {name}({NAMES[node.meta['val'].dtype]}, [{', '.join(map(str, shape))}], {layout})\n"
            for name, (node, shape, layout) in self.operands.items())
        rows = self.whole[0]
        is_class = isinstance(rows, Rows)
        size = f"size R = {1 << (rows - 1).bit_length()}\n" if is_class else ""  # that of its class
        text = f"workload fused\nranks {self.ranks}\n{size}{declared}" + "".join(
            line + "\n" for line in self.lines) + f"return {', '.join(results)}\n"
        # What ranks compare: of each operand that all have the same of, by what that is known.
        self.compared = text + "".join(f"{name}: {self.known.get(node)}\n"
                                       for name, (node, _, layout) in self.operands.items()
                                       if layout == "Replicated")
        return text, [(node, shape, layout) for node, shape, layout in self.operands.values()], results


def name_of(node):
    return getattr(node.target, "_opname", None) or str(getattr(node.target, "__name__", node.target))


def constant(arg):
    """The text of an argument that is not a node, or the nodes and texts of a list. Ranks of one value have
    one text. Throws Left for a value without a text to compare."""
    if isinstance(arg, (list, tuple)):
        return [constant(each) for each in arg]
    if isinstance(arg, (torch.fx.Node, torch.device)):
        return arg.type if isinstance(arg, torch.device) else arg
    if arg is None or isinstance(arg,
                                 (bool, int, float, str, torch.dtype, torch.layout, torch.memory_format)):
        return repr(arg)
    raise Left(f"{arg!r} cannot be compared between ranks")


def is_function(target):
    """Whether its results follow from its arguments alone: no random numbers, no memory as it is, and no
    operator of others, which may read its rank."""
    if not isinstance(target, torch._ops.OpOverload):
        return getattr(target, "__module__", "") in ("_operator", "operator")
    return target.namespace in ("aten", "prims") and not target._schema.is_mutable and \
        torch.Tag.nondeterministic_seeded not in target.tags and "empty" not in target._opname


def known_alike(graph, known, group=None):
    """Nodes with digests; all ranks of a group that have a digest have the same of its node. They are
    `known`, with digests, what collectives of that group give, and what is computed of these and of constants
    alone. A digest is of the whole computation, every constant included."""
    alike, issued, before = dict(known), [], {}

    def digest(node, *words):
        value = node.meta.get("val")
        shape = (str(tuple(value.shape)), str(value.dtype)) if torch.is_tensor(value) else ()
        alike[node] = hashlib.sha256(repr((words, shape)).encode()).hexdigest()

    def told(arg):
        if isinstance(arg, list):
            return [told(each) for each in arg]
        return alike[arg] if isinstance(arg, torch.fx.Node) else arg

    for node in graph.nodes:
        if node.op != "call_function" or node in alike:
            continue
        if node.target is c10d.wait_tensor.default:
            made = node.args[0]
            if made.target in (c10d.all_reduce.default,
                               c10d.all_gather_into_tensor.default) and made.args[-1] == group:
                digest(node, name_of(made), before[made])
        elif getattr(node.target, "namespace", "") == "_c10d_functional":
            if node.args[-1] == group:  # counted where it is issued: waits may come in another order
                before[node] = tuple(issued)
                value = node.meta.get("val")
                issued.append((str(node.target), str(getattr(value, "shape", "")), str(node.args[1:-1])))
        elif is_function(node.target) and all(each in alike for each in node.all_input_nodes):
            try:
                digest(node, str(node.target), told(constant(node.args)),
                       sorted((key, told(constant(arg))) for key, arg in node.kwargs.items()))
            except Left:
                pass
    return alike
