"""A tensor program as `chorale transform` prints it, read for its gradients: statements as trees of Python,
and the layouts of what they make."""

import ast
import re

import torch

TYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "int32": torch.int32,
    **{
        name: getattr(torch, kind, torch.uint8)
        for name, kind in (("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2"))
    }
}  # their bits before 2.1
MOVES = {
    "MatMul", "AllReduce", "ReduceScatter", "AllGather", "AllToAll", "AllToAllV", "Slice", "ReduceTensor",
    "ReduceAlong"
}  # what has a formula beside arithmetic
SUMS = {"AllReduce", "ReduceScatter", "ReduceTensor", "ReduceAlong"}
FUNCTIONS = {
    "Sqrt": torch.sqrt,
    "Exp": torch.exp,
    "Log": torch.log,
    "Tanh": torch.tanh,
    "Abs": torch.abs,
    "Pow": torch.pow,
    "Min": torch.minimum,
    "Max": torch.maximum,
    "Select": lambda c, a, b: torch.where(c != 0, a, b)
}
NAME = re.compile(r'(?<![\w."])([A-Za-z_]\w*)(?!\w*")')
REPLICATED, LOCAL = ("Replicated", None), ("Local", None)


def wide(kind):
    """In what elements of a type are computed."""
    return torch.float64 if kind == torch.float64 else torch.float32


def stored(x, kind):
    """As elements of the type: floats of 8 bits saturate, where PyTorch has a NaN or an infinity."""
    return x.clamp(-torch.finfo(kind).max,
                   torch.finfo(kind).max).to(
                       kind) if kind.is_floating_point and torch.finfo(kind).bits == 8 else x.to(kind)


class NoFormula(Exception):
    """What has no gradient, and why."""


def parsed(expression):
    """Python's tree of an expression, whose names begin with n_: some are words of Python."""
    return ast.parse(NAME.sub(r"n_\1", expression), mode="eval").body


def name_of(node):
    return node.id[2:] if isinstance(node, ast.Name) else None


def call_of(node):
    return name_of(node.func) if isinstance(node, ast.Call) else None


def source_of(tree):
    """The one operand of what is in MOVES, but a product; of AllToAllV the one with a gradient."""
    return name_of(tree.args[call_of(tree) in SUMS])


def names_in(node):
    called = {id(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
    return {
        name_of(each)
        for each in ast.walk(node) if isinstance(each, ast.Name) and id(each) not in called
    } - TYPES.keys()


def statements(text):
    """Of a program as `chorale transform` prints it: names and trees. Kernels and overlaps change no
    result."""
    result = []
    for line in text.splitlines():
        found = re.fullmatch(r"\s*(\w+) = (.*)", line)
        if found and not line.startswith("size "):
            result.append((found[1], parsed(found[2])))
    return result


def layout_of(words, dims):
    """Of a declaration. The dimension of a slice is counted from the last one, as broadcasting does."""
    kind, _, place = words.partition("(")
    place = place.partition(")")[0] if dims != 1 else "0"
    if kind not in ("Replicated", "Local", "Sliced") or "GROUP" in words:
        raise NoFormula(f"a tensor that is {words}")
    return (kind, None if kind != "Sliced" else "flat" if place == "flat" else int(place) - dims)


class Program:
    """Of a program on this rank: its text as `chorale transform` prints it, and the rows of its tensors."""

    def __init__(self, text, rows, group=None):
        self.statements, self.rows, self.group = statements(text), {row["name"]: row for row in rows}, group
        if re.search(r"^groups (?!1$)", text, re.M):
            raise NoFormula("a program of several groups")
        for name, tree in self.statements:
            for node in ast.walk(tree):
                call = call_of(node)
                if isinstance(node, ast.Call) and call not in MOVES | FUNCTIONS.keys() | {"Cast", "Random"}:
                    raise NoFormula(f"{name}, which is {call}")
                if call in SUMS and node.args[0].value != "+":
                    raise NoFormula(f"{name}, which is {call} of {node.args[0].value}")
        self.layouts = {
            name: layout_of(row["layout"], len(row["shape"]))
            for name, row in self.rows.items() if row["input"]
        }
        self.dims = {name: len(row["shape"]) for name, row in self.rows.items() if row["input"]}
        for name, tree in self.statements:
            known = [self.dims[each] for each in names_in(tree) if each in self.dims]
            self.dims[name] = 0 if call_of(tree) == "ReduceTensor" else max(known, default=0)
            self.layouts[name] = self.layout(name, tree)

    def layout(self, name, tree):
        call = call_of(tree)
        operands = [self.layouts[each] for each in sorted(names_in(tree)) if each in self.layouts]
        if call in ("AllReduce", "AllGather"):
            return REPLICATED
        if call in ("ReduceScatter", "Slice"):
            written = tree.args[2:] if call == "ReduceScatter" else tree.args[1:]
            if self.dims[name] == 1:
                return ("Sliced", -1)
            return ("Sliced", "flat" if not written or name_of(written[0]) == "flat" else written[0].value -
                    self.dims[name])
        if call in ("AllToAll", "AllToAllV"):
            return LOCAL
        if call in ("ReduceTensor", "ReduceAlong"):
            kind, dim = operands[0]
            along = dim if call == "ReduceTensor" else tree.args[2].value - self.dims[name]
            return LOCAL if kind == "Sliced" and dim == along else operands[0]
        if call == "MatMul":
            left, right = (self.layouts[name_of(each)] for each in tree.args)
            if left[0] == right[0] == "Sliced":
                return LOCAL if left[1] == -1 else left
            return left if left[0] == "Sliced" else right if right[0] == "Sliced" else LOCAL if LOCAL in (
                left, right) else REPLICATED
        if names_in(tree) & {"RANK", "GROUP"}:
            return LOCAL
        return next((each for each in operands if each[0] != "Replicated"), REPLICATED)
