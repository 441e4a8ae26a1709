"""The last line of test.sh: how many tests passed, and how many were skipped, in whole or in part, for which
reason. Reads what ctest writes with --output-junit.

A test says why by a line that begins with SKIPPED, GoogleTest by the line below its "Skipped"; of a test that
passed, such lines are parts that were left out.
Usage: skipped.py FILE
"""
import collections
import re
import sys
import xml.etree.ElementTree as ElementTree


def reasons(output):
    """What the output of a test says was left out, each once and without what is different from run to run."""
    said = re.findall(r"^.*\bSKIPPED(?: in part)?[:,] *(.+)$", output, re.M) + re.findall(r": Skipped\n(.+)$", output, re.M)
    return list(dict.fromkeys(reason.strip().rstrip(".") for reason in said))


def summary(tree):
    passed = failed = 0
    whole, parts = collections.Counter(), collections.Counter()
    for test in tree.iter("testcase"):
        output = test.findtext("system-out") or ""
        if test.get("status") == "run":
            passed += 1
            parts.update(reasons(output))
        elif test.find("skipped") is not None:
            said = reasons(output) or output.strip().splitlines()[-1:] or ["no reason given"]
            whole[said[0]] += 1
        else:
            failed += 1
    line = f"passed {passed}, " + (f"failed {failed}, " if failed else "") + f"skipped {whole.total()}"
    line += "".join(f"{'; ' if k else ': '}{count} {reason}" for k, (reason, count) in enumerate(whole.most_common()))
    if parts:
        line += f"; parts of {parts.total()}: " + "; ".join(f"{count} {reason}" for reason, count in parts.most_common())
    return line


if __name__ == "__main__":
    print(summary(ElementTree.parse(sys.argv[1])))
