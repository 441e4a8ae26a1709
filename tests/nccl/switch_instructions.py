#!/usr/bin/env python3
"""What a switch does for emitted programs (runtime/device/multimem.h), compiled by nvcc for sm_90 and sm_100: the
instructions are in what ptxas makes, where there is a disassembler, and else in what it is given.

Usage: switch_instructions.py SOURCE, the folder of the project.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, skip, work  # noqa: E402

os.environ["PATH"] += os.pathsep + "/usr/local/cuda/bin"
if shutil.which("nvcc") is None:
    skip("nvcc was not found")
source = pathlib.Path(sys.argv[1]).absolute()
INTEGERS = ["std::int32_t", "std::uint32_t", "std::int64_t", "std::uint64_t"]
# Elements, operation, and how PTX has it.
LOADS = [("float", "Sum", "add.v4.f32"), ("double", "Sum", "add.f64"), ("chorale::Float16", "Sum", "add.acc::f32.v4.f16x2"),
         ("chorale::Bfloat16", "Sum", "add.acc::f32.v4.bf16x2")]
for element in INTEGERS:
    sign, bits = "u" if "uint" in element else "s", re.search(r"\d+", element)[0]
    LOADS += [(element, "Sum", f"add.u{bits}"), (element, "Max", f"max.{sign}{bits}"), (element, "Min", f"min.{sign}{bits}")]
kernels = "".join(
    f"template __global__ void by_switch<chorale::Combination::{operation}, {element}>(const void*, void*, std::uint64_t*);\n"
    for element, operation, _ in LOADS)
(work / "all.cu").write_text(f"""#include "runtime/device/multimem.h"
struct alignas(16) Unit {{ char bytes[16]; }};
template <chorale::Combination op, typename T>
__global__ void by_switch(const void* from, void* to, std::uint64_t* counters) {{
  static_assert(chorale::switch_combines<op, T>);
  Unit value;
  chorale::switch_meet_aliases();
  chorale::switch_load<op, T>(value, from);
  chorale::switch_store(to, value);
  chorale::switch_meet_aliases();
  chorale::switch_add_one(counters);
}}
{kernels}static_assert(!chorale::switch_combines<chorale::Combination::Sum, signed char>);
static_assert(!chorale::switch_combines<chorale::Combination::Sum, chorale::Float8E4m3>);
static_assert(!chorale::switch_combines<chorale::Combination::Max, float>);
static_assert(!chorale::switch_combines<chorale::Combination::Prod, int>);
""")
disassembler = shutil.which("nvdisasm")
for architecture in "sm_90", "sm_100":
    run("nvcc", "-std=c++20", "-arch", architecture, f"-I{source}", "-cubin", work / "all.cu", "-o", work / "all.cubin")
    run("nvcc", "-std=c++20", "-arch", architecture.replace("sm", "compute"), f"-I{source}", "-ptx", work / "all.cu", "-o", work / "all.ptx")
    ptx = (work / "all.ptx").read_text()
    for _, _, operation in LOADS:
        assert f"multimem.ld_reduce.relaxed.sys.global.{operation} " in ptx, (architecture, operation)
    assert ptx.count("multimem.st.relaxed.sys.global.v4.f32") == len(LOADS) == ptx.count("multimem.red.release.sys.global.add.u64")
    if disassembler:
        sass = subprocess.run([disassembler, work / "all.cubin"], capture_output=True, text=True, check=True).stdout
        for name, pattern in [("loads", r"LDGMC\.E"), ("stores", r"STG\.E\.128\.STRONG\.SYS"), ("signals", r"REDG\.E\.ADD\.64\.STRONG\.SYS")]:
            assert len(re.findall(pattern, sass)) >= len(LOADS), (architecture, name)
print(f"{len(LOADS)} loads of sums, their stores and signals for sm_90 and sm_100, in {'SASS' if disassembler else 'PTX that ptxas takes'}")
