#!/usr/bin/env python3
"""How many single faults in descriptions of nodes `topology lint` names, and what it says of files without one.

Usage: lint_faults.py CHORALE [FOLDER], dumps of NCCL, RCCL and nvidia-smi; without it those of tests/data and
examples. A fault goes into one record of those that are alike in at least four; it is named if lint ends with 1
and a line of its output has the record: its line, its bus, or its name. A row per kind of fault, then the faults
that were not named and the false alarms.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

source = pathlib.Path(__file__).resolve().parents[1]
chorale = pathlib.Path(sys.argv[1]).resolve()


class Element:
    """A tag of an XML text, with its place."""

    def __init__(self, tag, attributes, begin, parent):
        self.tag, self.attributes, self.begin, self.parent = tag, attributes, begin, parent
        self.children, self.head, self.end = [], 0, 0

    def below(self, tag):
        return [each for child in self.children for each in [child, *child.below("")] if tag in ("", each.tag)]


def elements(text):
    root = at = Element("", {}, 0, None)
    for tag in re.finditer(r"<(/?)(\w+)((?:\s+[\w:]+=\"[^\"]*\")*)\s*(/?)>", text):
        if tag[1]:
            at.end, at = tag.end(), at.parent
            continue
        one = Element(tag[2], dict(re.findall(r"([\w:]+)=\"([^\"]*)\"", tag[3])), tag.start(), at)
        one.head = one.end = tag.end()
        at.children.append(one)
        if not tag[4]:
            at = one
    return root.below("")


def words_of(text, element):
    """What names the record: its lines, buses and devices up to the PCI device that holds it."""
    words = []
    while element is not None and element.tag not in ("cpu", "system", ""):
        words.append(f":{text.count(chr(10), 0, element.begin) + 1}: ")
        words += [element.attributes[key] for key in ("busid", "name") if key in element.attributes]
        if element.tag == "pci":
            break
        element = element.parent
    return words


def alike(items, value):
    """The items of the usual value, if they are at least four and three quarters of all; else none."""
    values = collections.Counter(map(value, items))
    usual, count = values.most_common(1)[0] if values else (None, 0)
    return [each for each in items if value(each) == usual] if count >= 4 and 4 * count >= 3 * len(items) else []


def with_attribute(text, element, key, value):
    head = re.sub(rf'(\s{key}=")[^"]*"', rf'\g<1>{value}"', text[element.begin:element.head], count=1)
    return text[:element.begin] + head + text[element.head:]


def cut(text, element):
    return text[:element.begin] + text[element.end:]


def of_xml(text):
    """(kind, the text with the fault, words of the record)."""
    all_elements = elements(text)
    gpus = [each for each in all_elements if each.tag == "gpu"]
    nics = [each for each in all_elements if each.tag == "net" and each.attributes.get("speed", "0") != "0"]
    links = lambda gpu: [each for each in gpu.children if each.tag in ("nvlink", "xgmi")]  # noqa: E731
    total = lambda gpu: sum(int(each.attributes["count"]) for each in links(gpu))  # noqa: E731
    pci = lambda each: each.parent if each.tag == "gpu" else each.parent.parent  # noqa: E731
    pci_rate = lambda each: (pci(each).attributes.get("link_speed"), pci(each).attributes.get("link_width"))  # noqa: E731

    linked = [gpu for gpu in alike(gpus, total) if links(gpu)]
    for gpu in linked[1:2]:
        yield "no links", text[:gpu.head] + text[gpu.end - len("</gpu>"):], words_of(text, gpu)
    for gpu in linked[2:3]:
        record = links(gpu)[0]
        yield "a link lost", cut(text, record), words_of(text, gpu)
        yield "links added", with_attribute(text, record, "count", int(record.attributes["count"]) + 3), words_of(text, record)
        yield "links to nowhere", with_attribute(text, record, "target", "ffff:fe:00.0"), words_of(text, record)
        yield "links twice", text[:record.end] + text[record.begin:record.end] + text[record.end:], words_of(text, record)
    for key, other in (("sm", "60"), ("gcn", "gfx908")):
        for gpu in alike([each for each in gpus if key in each.attributes], lambda each: each.attributes[key])[3:4]:
            yield "generation", with_attribute(text, gpu, key, other), words_of(text, gpu)
    numbered = [gpu for gpu in gpus if "rank" in gpu.attributes]
    if len({gpu.attributes["rank"] for gpu in numbered}) == len(gpus) >= 4:
        yield "rank twice", with_attribute(text, numbered[2], "rank", numbered[1].attributes["rank"]), words_of(text, numbered[1]) + words_of(text, numbered[2])
        yield "rank far off", with_attribute(text, numbered[2], "rank", "77"), words_of(text, numbered[2])
    for kind, devices in (("GPU", gpus), ("NIC", nics)):
        devices = [each for each in devices if pci(each) is not None and pci(each).tag == "pci"]
        for each in alike(devices, pci_rate)[1:2]:
            width = pci(each).attributes.get("link_width", "0")
            if width == "16" and re.match(r"(8|16|32)(\.0)? GT", pci(each).attributes.get("link_speed", "")):
                yield f"{kind} of 4 lanes", with_attribute(text, pci(each), "link_width", "4"), words_of(text, each)
                yield f"{kind} of 7 lanes", with_attribute(text, pci(each), "link_width", "7"), words_of(text, each)
                yield f"{kind} of 2.5 GT/s", with_attribute(text, pci(each), "link_speed", "2.5 GT/s"), words_of(text, each)
                yield f"{kind} of 12 GT/s", with_attribute(text, pci(each), "link_speed", "12 GT/s"), words_of(text, each)
    if len(nics) >= 4 and len(nics) % len(gpus) == 0:
        for nic in alike(nics, lambda each: each.attributes["speed"])[2:3]:
            yield "NIC of 10 Gb/s", with_attribute(text, nic, "speed", "10000"), words_of(text, nic)
            yield "NIC of 9 Tb/s", with_attribute(text, nic, "speed", "9000000"), words_of(text, nic)


def of_matrix(text):
    lines = text.split("\n")
    title = next(line for line in lines if re.search(r"(^|\s)GPU0\s", line))
    names = title.split("CPU Affinity")[0].split()
    row = {name: next(i for i, line in enumerate(lines) if line.split()[:1] == [name] and line != title) for name in names}
    gpus = [name for name in names if name.startswith("GPU")]

    def changed(cells):
        table = list(lines)
        for (a, b), value in cells.items():
            for x, y in ((a, b), (b, a)):
                at = list(re.finditer(r"\S+", table[row[x]]))[1 + names.index(y)]
                table[row[x]] = table[row[x]][:at.start()] + value.ljust(at.end() - at.start()) + table[row[x]][at.end():]
        return "\n".join(table)

    cell = lambda a, b: lines[row[a]].split()[1 + names.index(b)]  # noqa: E731
    pairs = [(a, b) for a in gpus for b in gpus if a < b]
    links = {cell(*pair) for pair in pairs}
    if len(gpus) >= 4 and len(links) == 1 and next(iter(links)).startswith("NV"):
        few = f"NV{int(next(iter(links))[2:]) - 1}"
        yield "a cell less", changed({pairs[1]: few}), list(pairs[1])
        yield "a cell of PCI", changed({pairs[2]: "SYS"}), list(pairs[2])
        yield "no links", changed({pair: "SYS" for pair in pairs if "GPU2" in pair}), ["GPU2"]


def lint(path):
    done = subprocess.run([chorale, "topology", "lint", path], capture_output=True, text=True, timeout=300)
    return done.returncode, re.sub(r"\n +", " ", done.stdout + done.stderr)


folders = [pathlib.Path(sys.argv[2])] if len(sys.argv) > 2 else [source / "tests/data/topology", source / "examples"]
files = sorted(each for folder in folders for each in folder.iterdir() if each.suffix in (".xml", ".txt"))
named, faults, missed, alarms, refused = collections.Counter(), collections.Counter(), [], [], []
with tempfile.TemporaryDirectory(prefix="chorale_lint_") as folder:
    for file in files:
        code, output = lint(file)
        if code != 0:
            (refused if code == 2 else alarms).append(f"{file.name}: {output.strip()[:300]}")
            continue
        text = file.read_text()
        for kind, harmed, words in (of_xml if text.lstrip().startswith("<") else of_matrix)(text):
            path = pathlib.Path(folder) / file.name
            path.write_text(harmed)
            code, output = lint(path)
            faults[kind] += 1
            if code == 1 and any(word in line for word in words for line in output.split("\n")[1:]):
                named[kind] += 1
            else:
                missed.append(f"{file.name}: {kind}: exit code {code}, {' '.join(output.split())[:240]}")
print(f"{len(files) - len(refused) - len(alarms)} files without a fault, {len(alarms)} false alarms, {len(refused)} that describe no node")
print(f"{'fault':<20} {'files':>5} {'named':>5}")
for kind, count in sorted(faults.items()):
    print(f"{kind:<20} {count:>5} {named[kind]:>5}")
print(f"{'all':<20} {sum(faults.values()):>5} {sum(named.values()):>5}  {100 * sum(named.values()) / max(1, sum(faults.values())):.1f} %")
for title, lines in (("not named", missed), ("false alarms", alarms), ("describe no node", refused)):
    for line in lines:
        print(f"{title}: {line}")
