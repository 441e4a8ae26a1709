#!/usr/bin/env python3
"""README.md, CONTRIBUTING.md, CHANGELOG.md, docs/*.md and benchmarks/README.md use the field's words: none of
the private ones below comes back, in prose, headings or tables, nor in what the product prints: help, output,
errors, pages, docstrings; nor some of them in names of its code. Code blocks and `code` are exempt: they show what programs and files contain. Lines
of prose have at most 110 columns; tables, headings, code blocks and the targets of links are exempt. So have
lines of comments in sources, tests and scripts.

Usage: words.py SOURCE_DIRECTORY [--counts | --wrap]
--counts prints how often each word occurs, and checks nothing; --wrap breaks lines that are too long first.
"""
import pathlib
import re
import sys
import textwrap

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.literals import ROOMS, printed, sources  # noqa: E402

# (the word, what the field writes, contexts that are right as they are)
WORDS = [
    (r"ways?", "path, route, direction, or a noun for the method", r"one-way|k-way|by way of"),
    (r"roads?|journeys?", "path, route", None),
    (r"tell|tells|told|telling", "report, print, express, distinguish, determine", None),
    (r"turn|turns|turned", "reverse, iterate, alternate, serialize", r"in turn\b"),
    (r"look|looks|looked", "search, examine, check; work budget", r"looks? up|looked up"),
    (r"say|says|said|saying", "state, report, print, specify", None),
    (r"who|whom|whoever", "a noun: the caller, the rank, the search", r"(people|users|engineers|readers|researchers) who"),
    (r"by hand|hand-written|handwritten", "baseline, manually", None),
    (r"so many|so much", "a number with a name: C chunks, `conflicts` conflicts", None),
    (r"(?<!there )(?:is|are|was|were) no", "not: 'is not an X', 'has no X'",
     r"no (longer|more|less|fewer|lower|higher|worse|larger|smaller|faster|earlier|later|wider)"),
    (r"referees?|refereed", "verifier, verified", None),
    (r"judges?|judged|judging", "verify, verifier", None),
    (r"doors?", "API, entry point", None),
    (r"seats?|wires?", "rank mapping; link", r"wire="),
    (r"blanks|whole numbers?", "whitespace; integer", None),
    (r"dearer|dearest", "more expensive, most expensive", None),
    (r"overfull", "overloaded", None),
    (r"times the bound", "x lower bound", None),
    (r"behind the first|undivided", "slowdown vs. best; single collective", None),
    (r"put together", "composed", None),
    (r"everybody|somebody|anybody", "all ranks, other tools, another program", None),
    (r"nobody named|no name", "random, irregular", None),
    (r"narrower", "restricted", None),
    (r"anew", "again", None),
    (r"held against", "compared with", None),
    (r"in the place of", "in place of, instead of", None),
    (r"reckons?", "use, compute", None),
    (r"wants?", "need, require", None),
    (r"nobody", "none, no rank", None),
    (r"alike", "equal, equivalent", r"(CPU threads|grouped|groups) alike"),
    (r"ours|yours", "Chorale's, built-in", None),
    (r"turned round|other way round", "reversed", None),
    (r"(?:rounds?|chunks|bytes|microseconds|us|seconds|values?|launch|process) an? "
     r"(?:chunk|block|round|step|byte|rank|vector|question|pair|device|node)", "per: rounds per chunk", None),
]
COLUMNS = 110
# Private words that names of the product's code had, and what they have instead.
NAMES = re.compile(r"\b(Alikes|Cheap|Lies|Several|Stretch|TakenAnswer|Taker|links_alike|lies_even|look_at_\w+|put_together|say_\w+|steers|tell_\w+|told_\w*)\b")
NAMES_INSTEAD = "say what it is in the field's words: equivalent, record, describe, is_aligned, a fault of"


def prose(text):
    """(number, line) outside of code blocks, fenced or indented: lines of prose, headings, and rows of
    tables."""
    fenced = code = False
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.startswith("    ") and not re.match(r"\s*([-*]|\d+\.) ", line) and (code or not before.strip())
        before = line
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not code:
            yield number, line


def paragraphs(text):
    """(number of its first line, its lines as one): words that a line break parts are found, too."""
    first, lines, last = 0, [], 0
    for number, line in [*prose(text), (0, "")]:
        ends = not line.strip() or line.startswith(("|", "#", "-", "*")) or number != last + 1
        if ends and lines:
            yield first, " ".join(lines)
            lines = []
        if line.strip():
            first, lines = first if lines else number, [*lines, line.strip()]
        last = number


def words_of(line):
    """The line without `code` and without the targets of links."""
    line = re.sub(r"`[^`]*`", "``", line)
    return re.sub(r"\]\([^)]*\)|<[^>]*>|https?://\S+", "]", line)


def found(line):
    for word, instead, right in WORDS:
        plain = re.sub(right, lambda match: "-" * len(match[0]), line, flags=re.I) if right else line
        for match in re.finditer(rf"(?<![\w-])(?:{word})(?![\w-])", plain, re.I):
            yield word, match[0], instead


def is_wide(line):
    shown = re.sub(r"\]\([^)]*\)", "]", line)
    return len(shown) > COLUMNS and not line.startswith(("|", "#", "<", "!"))


def comments(path):
    """(number, line) of the lines that are comments alone."""
    mark = "//" if path.suffix in (".cpp", ".h", ".c", ".cu") else "#"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith(mark):
            yield number, line


def wrap(path, wide, start, more):
    """Breaks the wide lines, given by number; what follows one in its paragraph moves along. start: of a line, what
    stands before its text and, as its group, before the text of the next one; more: a line that goes on."""
    lines = path.read_text().split("\n")
    for first in sorted((number - 1 for number in wide), reverse=True):
        head = re.match(start, lines[first])
        before = head[1] + " " * len(head[0][len(head[1]):])
        last = first + 1
        while last < len(lines) and re.match(re.escape(before) + more, lines[last]):
            last += 1
        text = " ".join([lines[first][head.end():], *(line[len(before):] for line in lines[first + 1:last])])
        text = re.sub("`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)  # stays together
        broken = textwrap.wrap(text, COLUMNS, initial_indent=head[0], subsequent_indent=before, break_long_words=False, break_on_hyphens=False)
        lines[first:last] = [line.replace("\0", " ") for line in broken]
    path.write_text("\n".join(lines))


def names(path):
    """(number, name) of the private words above, in code without its comments and texts."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for match in NAMES.finditer(re.sub(r'"(\\.|[^"\\])*"|//.*', "", line)):
            yield number, match[0]


# What the table finds and what it lets pass: sentences that stood in these pages, and what stands there now.
for old in ("Who has another way at little more takes it, and who has none stays.", "a hand-written algorithm, for comparison",
            "no schedule moves a chunk in less than 1/3 of a round, and with so many chunks a block", "a referee stands at each door",
            "it is no rank of the group", "2.405 times the bound", "levels (put together of schedules of groups)"):
    assert any(found(words_of(old))), old
for new in ("Demands with cheap alternatives are rerouted first; those without keep the resource.", "there is no such link",
            "the links are no wider than their NICs", "look up a term in the glossary", "a copy of a chunk to one rank",
            "`chorale says so in code` [a link](ways-and-doors.md)"):
    assert not any(found(words_of(new))), new

source = pathlib.Path(sys.argv[1])
pages = [*(source / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")),
         *sorted((source / "docs").glob("*.md"))]
counts, faults, lines = {word: 0 for word, _, _ in WORDS}, [], 0
for page in filter(pathlib.Path.exists, pages):
    if "--wrap" in sys.argv:
        wrap(page, [number for number, line in prose(page.read_text()) if is_wide(line)], r"(\s*)(?:[-*] |\d+\. )?", r"(?![-*] |\d+\. |[|#<`!]{1,3}|\s)\S")
    text = page.read_text()
    for number, paragraph in paragraphs(text):
        for word, match, instead in found(words_of(paragraph)):
            counts[word] += 1
            at = paragraph.find(match)
            faults.append(f"{page.relative_to(source)}:{number}: '{match}': write {instead}: ..{paragraph[max(0, at - 40):at + 40]}..")
    for number, line in prose(text):
        lines += 1
        if is_wide(line):
            faults.append(f"{page.relative_to(source)}:{number}: {len(line)} columns, at most {COLUMNS}")
texts, read = 0, sources(source)
for path in read:
    for number, text in printed(path):
        texts += 1
        for word, match, instead in found(words_of(text)):
            counts[word] += 1
            at = text.find(match)
            faults.append(f"{path.relative_to(source)}:{number}: '{match}': write {instead}: ..{text[max(0, at - 40):at + 40]}..")
commented = 0
for path in [*source.glob("*.*"), *(path for room in ROOMS + ["benchmarks", "packaging", "tests"] for path in (source / room).rglob("*"))]:
    if path.suffix in (".cpp", ".h", ".c", ".cu", ".py", ".sh", ".cmake") or path.name == "CMakeLists.txt":
        if "--wrap" in sys.argv:
            wrap(path, [number for number, line in comments(path) if len(line) > COLUMNS], r"(\s*(?://|#) )", r"(?!- |\()\S")
        for number, line in comments(path):
            commented += 1
            if len(line) > COLUMNS:
                faults.append(f"{path.relative_to(source)}:{number}: a comment of {len(line)} columns, at most {COLUMNS}")
for path in (path for room in ROOMS for path in (source / room).rglob("*") if path.suffix in (".cpp", ".h", ".cu")):
    faults += [f"{path.relative_to(source)}:{number}: the name {name}: {NAMES_INSTEAD}" for number, name in names(path)]
if "--counts" in sys.argv:
    print("\n".join(f"{count:5} {word}" for word, count in counts.items()))
    sys.exit(0)
print("\n".join(faults))
print(f"{lines} lines of {len(pages)} pages, {texts} texts of {len(read)} sources, "
      f"{commented} lines of comments, {len(faults)} faults")
sys.exit(1 if faults or lines < 500 or texts < 3000 or commented < 5000 else 0)
