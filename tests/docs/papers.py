"""The pages of papers (docs/paper-*.md) show what commands print. A row of their tables that has a command
has in its last cell what that prints: pieces of its output in their order, with " … " where something is left
out; spaces count as one. A row with seconds behind its command runs with --all only; its numbers may be off
by a tenth, since what is found within some time depends on the processors. Commands of ```sh blocks run
first, and no page is without rows.

Usage: papers.py CHORALE SOURCE_DIRECTORY [--all]
"""
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import work  # noqa: E402

chorale, source = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
COMMAND = re.compile(r"`(chorale [^`]*)`(?: \((\d+) s\))?$")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
ELLIPSIS = " … "
printed, failed = {}, []


def output(command):
    """What the command prints, with single spaces; an answer that there is nothing has an exit code of its
    own."""
    if command not in printed:
        line = command.replace("chorale", str(chorale), 1)
        done = subprocess.run(["bash", "-c", line], cwd=work, capture_output=True, text=True, timeout=600)
        assert done.returncode in (0, 3, 20), f"{command}: exit code {done.returncode}\n{done.stderr}"
        printed[command] = f" {' '.join(done.stdout.split())} "
    return printed[command]


def place_of(piece, text, begin, rough):
    """Where the piece ends in the text, at words' ends; -1 where it is not."""
    pattern = rf"(?<= ){re.escape(piece)}(?=[ ;,])"
    if rough:
        words = re.split(f"({NUMBER.pattern})", piece)  # and every second is a number
        pattern = r"(?<= )" + "".join(NUMBER.pattern if k % 2 else re.escape(word) for k, word in enumerate(words)) + r"(?=[ ;,])"
    for found in re.compile(pattern).finditer(text, begin):
        pairs = zip(map(float, NUMBER.findall(piece)), map(float, NUMBER.findall(found[0])))
        if not rough or all(abs(ours - theirs) <= 0.1 * max(ours, theirs) for ours, theirs in pairs):
            return found.end()
    return -1


def missing(cell, text, rough=False):
    """The first piece of the cell that the text does not have behind those before it."""
    at = 0
    for piece in cell.split(ELLIPSIS):
        at = place_of(piece, text, at, rough)
        if at < 0:
            return piece
    return None


# What it has to find, so that it can fail.
assert missing("3 7 6 7/6", " 0 3 7 6 7/6 = 1.167 any ") is None
assert missing("3 7 6 7/5", " 0 3 7 6 7/6 = 1.167 any ") and missing("3 7 6", " 0 3 7 61 ") and missing("7 3", " 0 17 3 ")
assert missing("b … a", " a b ") and missing("a … b", " a b ") is None
assert missing("2 us 100 %", " 2 us 95 % ", rough=True) is None and missing("2 us 100 %", " 2 us 80 % ", rough=True)

pages = sorted((source / "docs").glob("paper-*.md"))
assert len(pages) >= 5 and all(f"({page.name})" in (source / "docs/papers.md").read_text() for page in pages)
rows = left = 0
for page in pages:
    text = page.read_text()
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        for line in block.splitlines():
            subprocess.run(["bash", "-c", re.sub(r"^chorale\b", str(chorale), line)], cwd=work, check=True, capture_output=True)
    before = rows + left
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        command = COMMAND.search(cells[-2]) if line.startswith("|") and len(cells) > 1 else None
        if not command:
            continue
        if command[2] and "--all" not in sys.argv:
            left += 1
            continue
        rows += 1
        lacks = missing(cells[-1], output(command[1]), rough=bool(command[2]))
        if lacks is not None:
            failed.append(f"{page.name}: {command[1]}\ndoes not print '{lacks}' of '{cells[-1]}' but\n{output(command[1])}")
    assert rows + left > before, f"{page.name}: no row has a command"
print("\n".join(failed))
print(f"{rows} rows of {len(pages)} pages, {len(printed)} commands; {left} rows take longer (--all); {len(failed)} differ")
sys.exit(1 if failed else 0)
