#!/usr/bin/env python3
"""libchorale as installed: its header compiles alone and from the installed tree; the examples are built
outside of the tree, one by find_package and one by pkg-config; from C, too, by its own header; only what the
headers declare can be seen.

Usage: installed.py CMAKE BUILD CXX EXAMPLES
"""
import os
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, work  # noqa: E402

cmake, build, cxx, examples = sys.argv[1:5]
usr = work / "usr"
flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


for component in ("libchorale", "chorale-clp", "chorale-crypto"):  # what a search loads; MPI, Z3 and GPUs are not needed here
    run(cmake, "--install", build, "--prefix", str(usr), "--component", component)
(library,) = usr.glob("lib*/**/libchorale.so")
where = library.parent

# The header alone, with no other path than the installed one; and all that it uses of the standard library it
# includes itself.
FROM = {"function": "functional", "int64_t": "cstdint", "uint64_t": "cstdint", "INT_MAX": "climits", "byte": "cstddef", "get": "variant", "holds_alternative": "variant",
        "apply": "tuple", "tie": "tuple", "nullopt": "optional", "is_same_v": "type_traits", "remove_cvref_t": "type_traits", "runtime_error": "stdexcept",
        "logic_error": "stdexcept", "unique_ptr": "memory", "shared_ptr": "memory", "make_shared": "memory", "lock_guard": "mutex",
        "ostream": "iosfwd", "strong_ordering": "compare",
        "numeric_limits": "limits", "ranges": "algorithm"}  # all else: the header of its name
ANY = {"move", "pair", "declval", "size", "ssize", "size_t"}  # each header of the standard library has them
assert {path.name for path in (usr / "include/chorale").rglob("*.h")} == {"chorale.h", "chorale_c.h"}
text = (usr / "include/chorale/chorale.h").read_text()
assert '#include "' not in text and text.startswith("// The public API"), text[:200]
used = set(re.findall(r"\bstd::(\w+)|\b(?=INT_)(\w+)", re.sub("//.*", "", text)))
missing = {FROM.get(name, name) for name in {either or other for either, other in used} - ANY} - set(re.findall(r"#include <(.*)>", text))
assert not missing, f"chorale.h does not include {missing}"
run(cxx, *flags, "-fsyntax-only", f"-I{usr}/include", "-include", "chorale/chorale.h", "-x", "c++", "/dev/null")

# What can be seen from outside is the door, the nouns, and what templates leave behind.
public = "\n".join(line.split(" ", 2)[2] for line in run("nm", "-DC", "--defined-only", str(library)).splitlines())
for inside in ("chorale::CaDiCal", "CaDiCaL::", "chorale::InstanceSolver", "chorale::lower(", "chorale::StepRoundEncoding", "bliss::"):
    assert inside not in public, f"{inside} can be seen"
for door in ("frontier", "synthesize", "classic", "bounds", "check", "place", "select", "compile", "run", "machine", "collective"):
    assert re.search(rf"^chorale::{door}\(", public, re.M), f"{door} cannot be seen"

# By CMake.
(work / "project").mkdir()
(work / "project/CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.20)
project(outside LANGUAGES CXX)
find_package(chorale 0.1 REQUIRED)
add_executable(adam_tuned {examples}/adam_tuned.cpp)
target_link_libraries(adam_tuned PRIVATE chorale::chorale)
""")
run(cmake, "-S", "project", "-B", "made", f"-DCMAKE_PREFIX_PATH={usr}", f"-DCMAKE_CXX_COMPILER={cxx}",
    f"-DCMAKE_CXX_FLAGS={' '.join(flags[1:])}")
run(cmake, "--build", "made")
# By pkg-config.
paths = dict(os.environ, PKG_CONFIG_PATH=str(where / "pkgconfig"))
asked = run("pkg-config", "--cflags", "--libs", "chorale", env=paths).split()
run(cxx, *flags, f"{examples}/public_api.cpp", *asked, f"-Wl,-rpath,{where}", "-o", "public_api")
(work / "out").mkdir()
texts = [run("./public_api", "ring:4", "4096", "out")]
assert "0 wrong elements\n" in texts[0] and "wrote ring_4_allgather.cpp\n" in texts[0], texts[0]
assert "did you mean 'ring'?" in run("./public_api", "rong:4", code=2).stderr
# From C: the same program as from C++, and errors as values.
run("cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"{examples}/public_api.c", *asked, f"-Wl,-rpath,{where}", "-o", "from_c")
(work / "out_c").mkdir()
texts.append(run("./from_c", "ring:4", "4096", "out_c"))
assert "checked again: all is so\nwrote out_c/ring_4_allgather.cpp\n" in texts[-1], texts[-1]
assert (work / "out_c/ring_4_allgather.cpp").read_text() == (work / "out/ring_4_allgather.cpp").read_text()
assert "did you mean 'ring'?" in run("./from_c", "rong:4", code=2).stderr
(work / "wrong.c").write_text("""#include <chorale/chorale_c.h>
#include <assert.h>
#include <limits.h>
#include <string.h>
int main(void) {
  chorale_question question = {0};
  assert(strcmp(chorale_version(), "0.1.0") == 0 && *chorale_last_error() == 0);
  assert(!chorale_frontier(0, "allgather", 0) && strstr(chorale_last_error(), "machine: is NULL"));
  question.max_chunks = -1;
  assert(!chorale_frontier("ring:3", "allgather", &question) && strstr(chorale_last_error(), "max_chunks: is negative"));
  question.max_chunks = 0;
  question.order = "sorted";
  assert(!chorale_frontier("ring:3", "allreduce", &question) && strstr(chorale_last_error(), "sorted"));
  question.order = "fixed";
  char* const fixed = chorale_frontier("ring:3", "allreduce", &question);
  assert(fixed && strstr(fixed, "\\"order\\": \\"(("));
  chorale_free(fixed);
  question.order = 0;
  question.group = "0,0";
  assert(!chorale_frontier("ring:3", "allgather", &question) && strstr(chorale_last_error(), "rank 0 twice"));
  question.group = 0;
  question.counts = "2,0,1";
  char* const counted = chorale_frontier("ring:3", "allgatherv", &question);
  assert(counted && strstr(counted, "\\"collective\\": \\"allgatherv\\"") && *chorale_check(counted) == 0);
  chorale_free(counted);
  question.counts = 0;
  question.groups = "row";
  char* const rows = chorale_frontier("mesh:2x2", "allreduce", &question);
  assert(rows && strstr(rows, "allreduce of each row"));
  chorale_free(rows);
  question.groups = 0;
  question.min_chunks = 3, question.max_chunks = 2;
  assert(!chorale_frontier("ring:3", "allgather", &question) && strstr(chorale_last_error(), "no chunk count from 3 to 2"));
  question.min_chunks = 0, question.max_chunks = INT_MAX;
  assert(!chorale_frontier("ring:3", "allgather", &question) && strstr(chorale_last_error(), "max_chunks: 2147483647 is out of range; use 1 to 4096"));
  question.max_chunks = 0, question.min_chunks = INT_MAX;
  assert(!chorale_frontier("ring:3", "allgather", &question) && strstr(chorale_last_error(), "min_chunks: 2147483647 is out of range"));
  assert(chorale_best("{}", 1024) == -1 && strstr(chorale_last_error(), "result"));
  question.min_chunks = 0, question.max_chunks = 1;
  char* const found = chorale_frontier("ring:3", "broadcast", &question);
  assert(found && chorale_best(found, 0) == -1 && chorale_best(found, 1024) == 0);
  assert(!chorale_compile(found, 7, "mpi", ".") && strstr(chorale_last_error(), "no point 7"));
  assert(!chorale_compile(found, 0, "mpl", ".") && strstr(chorale_last_error(), "did you mean 'mpi'?"));
  assert(!chorale_compile(found, 0, "mpi", "") && strstr(chorale_last_error(), "directory: is empty"));
  char* const page = chorale_page(found);
  assert(page && strncmp(page, "<!DOCTYPE html>", 15) == 0);
  /* A schedule that lacks what it needs, and a text that is cut. */
  *strstr(found, "\\"proven\\": true") = 'x';
  assert(!chorale_check(found));
  chorale_free(page);
  chorale_free(found);
  return 0;
}
""")
run("cc", "-std=c99", "wrong.c", *asked, f"-Wl,-rpath,{where}", "-o", "wrong")
run("./wrong")
# A workload, read and tuned; what was written is compiled, and runs.
texts.append(run("made/adam_tuned", "ring:3", "out"))
assert "asSlice(m); asSlice(v)" in texts[-1] and "rs_sum: reducescatter" in texts[-1], texts[-1]
run("make", "-s", "-C", "out", "threads", f"CXX={build}/tests/emitted/quick_cxx", "FLAGS=-std=c++17 -I.", env=dict(os.environ, MAKEFLAGS=""))
assert "3 ranks, best of 1" in run("out/adam_threads", "N=1001", "--runs", "1")
print(f"{len(text.splitlines())} lines of header; the examples, built by CMake and by pkg-config, say\n{''.join(texts)}")
