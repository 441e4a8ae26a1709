"""A slow judge of float32 that travels as something else, by the definitions (docs/lowering.md): numbers are
exact here, and are rounded one by one."""
import array
import math

# Digits after the first, the least exponent, the largest number, what larger ones become, and whether 32
# share a scale.
WIRES = {"fp16": (10, -14, 65504.0, math.inf, False), "bf16": (7, -126, (2 - 2**-7) * 2.0**127, math.inf, False),
         "e4m3": (3, -6, 448.0, 448.0, False), "e5m2": (2, -14, 57344.0, 57344.0, False),
         "int8": (6, 0, 127 / 64, 127 / 64, True), "mxfp8": (3, -6, 448.0, 448.0, True)}


def fp32(x):
    return array.array("f", [x])[0]


def mixed(numbers, count):
    """Of mixed magnitude."""
    return [fp32(numbers.gauss(0, 1) * 2.0**numbers.randrange(-9, 6)) for _ in range(count)]


def rounded(x, digits, least, most, larger):
    if x == 0:
        return x
    unit = 2.0**(max(math.frexp(x)[1] - 1, least) - digits)
    near = round(x / unit) * unit  # to even
    return near if abs(near) <= most else math.copysign(larger, x)


def travelled(block, wire):
    *form, scaled = WIRES[wire]
    result = []
    for begin in range(0, len(block), 32):
        group, scale = block[begin:begin + 32], 0
        if scaled:
            scale = next(e for e in range(-127, 128) if max(map(abs, group)) <= form[2] * 2.0**e)
        result += [rounded(x / 2.0**scale, *form) * 2.0**scale for x in group]
    return result


def judged(inputs, wire):
    """Of blocks of all ranks, in their order."""
    total = None
    for block in (travelled(each, wire) for each in inputs):
        total = block if total is None else [fp32(a + b) for a, b in zip(total, block)]
    return travelled(total, wire)


def differing(have, inputs, wire):
    """Elements of these bytes, of a block, that are not the sum of these blocks of all ranks; zeros have any
    sign."""
    right, have = array.array("f", judged(inputs, wire) if inputs[0] else []), array.array("f", have)
    assert len(have) == len(right), (len(have), len(right))
    return [(i, a, b) for i, (a, b) in enumerate(zip(have, right)) if a != b]
