"""Points on numpy arrays."""

from __future__ import annotations

from typing import Any, List, Sequence

from chorale import _chorale
from chorale._chorale import Result
from chorale.errors import InputError, needed

TYPES = ("float32", "float64", "int32", "int64", "int8", "uint8", "uint32", "uint64", "float16", "bfloat16")


def run(result: Result, arrays: Sequence[Any], point: int, op: str) -> List[Any]:
    np = needed("numpy", "run()")
    given = [None if array is None else np.asarray(array) for array in arrays]
    there = [array for array in given if array is not None]
    types = {array.dtype for array in there if array.size > 0} or {array.dtype for array in there}
    if len(types) > 1:
        raise InputError(f"arrays: are of {', '.join(sorted(str(each) for each in types))}; give one type")
    dtype = types.pop() if types else np.dtype("float32")
    if dtype.name not in TYPES or not dtype.isnative:
        raise InputError(f"arrays: elements of type {dtype} are not known; use one of {', '.join(TYPES)}")
    # Bytes of their own order; a type that Python's buffers have no letter for (bfloat16) travels as bytes,
    # too.
    inputs = [
        np.ascontiguousarray(np.zeros(0, dtype) if array is
                             None else array.astype(dtype, copy=False)).reshape(-1).view(np.uint8)
        for array in given
    ]
    outputs = [np.frombuffer(each, dtype) for each in _chorale.run(result, point, dtype.name, op, inputs)]
    return [
        each.reshape(array.shape) if array is not None and array.size == each.size else each
        for array, each in zip(given, outputs)
    ]
