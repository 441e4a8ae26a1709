"""Emitted programs of one target, compiled as one: what they share is most of what a compiler reads, and the rest of each, its tables and
its main, gets a namespace. Each has to be what it says beside the others, so that nothing but its tables tells them apart."""
import os
import re


def merged(texts):
    """One source, whose program takes the number of one of these before that one's arguments."""
    texts = [re.sub(r"^(//.*\n)+", "", text) for text in texts]  # of what is made, by whom
    shared = os.path.commonprefix(texts)
    shared = shared[:shared.rindex("}  // namespace chorale\n") + len("}  // namespace chorale\n")]
    whole, cases = [shared], []
    for number, text in enumerate(texts):
        own = text[len(shared):]
        assert not re.search(r"^(#include|namespace chorale)\b", own, re.M), "programs differ before their tables"
        own = own.replace('extern "C" ', "").replace("int main(", "int program(")
        whole.append(f"namespace program{number} {{\n{own}}}  // namespace program{number}\n")
        cases.append(f"    case {number}: return program{number}::program(argc - 1, argv + 1);\n")
    return "".join([*whole, "int main(int argc, char** argv) {\n  switch (argc > 1 ? std::atoi(argv[1]) : -1) {\n", *cases, "  }\n  return 9;\n}\n"])
