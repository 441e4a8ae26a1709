"""Emitted programs of one target, compiled as one: what they share is most of what a compiler reads, and the
rest of each, its tables and its main, gets a namespace. So nothing but its tables may tell a program from the
others."""
import os
import re


def _joined(shared, own):
    whole, cases = [shared], []
    for number, text in enumerate(own):
        text = re.sub(r"(?<![\w>:])::(?=\w)", f"program{number}::", text)  # what is global in a program of its own
        whole.append(f"namespace program{number} {{\n{text.replace('int main(', 'int program(')}}}  // namespace program{number}\n")
        cases.append(f"    case {number}: return program{number}::program(argc - 1, argv + 1);\n")
    return "".join([*whole, "int main(int argc, char** argv) {\n  switch (argc > 1 ? std::atoi(argv[1]) : -1) {\n", *cases, "  }\n  return 9;\n}\n"])


def merged(texts):
    """Of programs in a file each, one source, whose program takes the number of one of these before that
    one's arguments."""
    texts = [re.sub(r"^(//.*\n)+", "", text) for text in texts]  # of what is made, by whom
    shared = os.path.commonprefix(texts)
    shared = shared[:shared.rindex("}  // namespace chorale\n") + len("}  // namespace chorale\n")]
    own = [text[len(shared):].replace('extern "C" ', "") for text in texts]
    assert not any(re.search(r"^(#include|namespace chorale)\b", text, re.M) for text in own), "programs differ before their tables"
    return _joined(shared, own)


def merged_directories(programs):
    """The same of directories of target cuda, with the tables as they are now. programs: (directory, macros,
    file), macros as NAME or NAME=VALUE; virtual ranks are on threads unless CHORALE_GPU is one."""
    shared, own = ["#include <cstdlib>\n"], []

    def inlined(directory, name, done):
        """Without its includes, each of which is taken once: what all have alike comes before the
        namespaces."""
        for line in (directory / name).read_text().splitlines(keepends=True):
            include = re.match(r'#include (<.*>|"(.*)")', line)
            if include and (include[1][0] == "<" or include[2].startswith(("runtime/", "ir/")) or not (directory / include[2]).exists()):
                shared.extend([line] * (line not in shared))
            elif include and include[2] not in done:
                done.add(include[2])
                yield from inlined(directory, include[2], done)
            elif not include and line != "#pragma once\n":
                yield line

    for directory, macros, file in programs:
        names = [macro.split("=")[0] for macro in macros]
        other = "virtual_cpu.h" if "CHORALE_GPU" in names else "virtual_gpu.h"
        own.append("".join([*(f"#define {macro.replace('=', ' ')}\n" for macro in macros), *inlined(directory, file, {other}),
                            *(f"#undef {name}\n" for name in {*names, "ELEMENT", "REDUCTION"})]))
    return _joined("".join(shared), own)
