#!/usr/bin/env python3
"""What shells complete, asked in a real bash, on a terminal and by its function, and in fish and zsh where
they are: every command and every option that help texts have, values known by name, and files. The pages
of the manual have every option of the help texts, and neither groff nor mandoc has anything against them.

Usage: completion.py CHORALE
"""
import os
import pathlib
import pty
import re
import select
import shutil
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run, work  # noqa: E402

chorale = pathlib.Path(sys.argv[1]).resolve()
os.environ.update(PATH=f"{chorale.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8", COLUMNS="80", HOME=str(work))


def help_of(path):
    """(commands below, names of options) as a help text has them."""
    text = run(chorale, *path, "--help")
    below = re.findall(r"^  ([a-z]+)  ", text, re.M)
    described = text.split("Options:\n")[1] if "Options:\n" in text else ""
    heads = re.findall(r"^  (-\S+)", described, re.M)
    return below, [re.sub(r"\{.*\}", "", name) for head in heads for name in head.split(",")], text


def all_commands(path=()):
    below, names, text = help_of(path)
    yield path, below, names, text
    for command in below:
        yield from all_commands((*path, command))


commands = list(all_commands())
assert len(commands) > 25, len(commands)
# What people use comes first, the rest under headings.
headings = re.findall(r"^(\w[\w ]*):\n((?:  .*\n)+)", run(chorale, "optimize", "--help").split("\n\n", 1)[1], re.M)
shown = {heading: len(re.findall("^  -", options, re.M)) for heading, options in headings}
assert shown["Options"] <= 10 and len(shown) >= 5, shown

refused("completion", "tcsh")
# What a shell receives: descriptions of options and commands, values by name, marks for files.
assert run(chorale, "__complete", "topology", "sh") == "show\tOne machine: its links, limits, degrees, diameter\n"
assert run(chorale, "__complete", "emit", "--target=msccl-") == "--target=msccl-xml\n"
assert run(chorale, "__complete", "check", "") == "<files>\n"

# -- bash ---------------------------------------------------------------------------------------------------
(work / "chorale.bash").write_text(run(chorale, "completion", "bash"))
(work / "mine.json").write_text("{}")
(work / "folder").mkdir()
# Words come as readline cuts them, at '=' and ':', too.
ASK = """
source ./chorale.bash
while IFS= read -r line; do
  IFS=$'\\t' read -ra COMP_WORDS <<< "$line"
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  [[ ${COMP_WORDS[COMP_CWORD]} == '<>' ]] && COMP_WORDS[COMP_CWORD]=
  COMPREPLY=()
  _chorale
  echo "${COMPREPLY[*]}"
done
"""


def asked(lines):
    """Of lists of words, of which the last is completed, what is offered."""
    text = "".join("\t".join(["chorale", *words[:-1], words[-1] or "<>"]) + "\n" for words in lines)
    return [answer.split() for answer in run("bash", "--norc", "-c", ASK, input=text).splitlines()]


answers = asked([[*path, "-"] for path, _, _, _ in commands] + [[*path, ""] for path, below, _, _ in commands if below])
for (path, _, names, _), offered in zip(commands, answers):
    assert sorted(offered) == sorted(names) and len(names) > 0, (path, offered, names)
for (path, below, _, _), offered in zip([each for each in commands if each[1]], answers[len(commands):]):
    assert sorted(offered) == sorted(below), (path, offered, below)

def agree(words, expected, offered):
    if expected is None:
        assert len(offered) >= 2 and all(word.startswith(words[-1]) for word in offered), (words, offered)
    else:
        assert offered == expected, (words, offered, expected)


CASES = [
    (["fron"], ["frontier"]),
    (["topology", "sh"], ["show"]),
    (["frontier", "dg"], None),
    (["frontier", "dgx1", "allg"], ["allgather", "allgatherv"]),
    (["frontier", "ring", ":", "4", "allg"], ["allgather", "allgatherv"]),
    (["frontier", "--max-chunks", "3", "dgx1", "allg"], ["allgather", "allgatherv"]),
    (["frontier", "-q", "dgx1", "allg"], ["allgather", "allgatherv"]),
    (["frontier", "--max-chunks", "=", "3", "dgx1", "allg"], ["allgather", "allgatherv"]),
    (["bench", "allg"], ["allgather"]),  # without counts
    (["synthesize", "dgx1", "allgather", "--engine", "sm"], ["smt"]),
    (["synthesize", "dgx1", "allgather", "--engine", "=", "sm"], ["smt"]),
    (["emit", "mine.json", "--target", "msccl-"], ["msccl-xml"]),
    (["check", "mi"], ["mine.json"]),
    (["frontier", "m"], None),
    (["frontier", "dgx1", "allgather", "--json", "mi"], ["mine.json"]),
    (["frontier", "dgx1", "allgather", "--proofs", ""], ["folder"]),
    (["frontier", "dgx1", "allgather", "--seed", ""], []),
    (["frontier", "dgx1", "allgather", "one too many"], []),
    (["topology", "import", "mine.json", "mi"], ["mine.json"]),  # as many as there are
    (["nothing", "fro"], []),
    (["frontier", "ring:"], []),
]
for words, expected in CASES:
    agree(words, expected, asked([words])[0])


def typed(program, keys, until):
    """What a shell on a terminal shows after these keys."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(work)
        os.execvpe(program[0], program, os.environ | {"TERM": "dumb", "PS1": "$ "})
    shown, sent, ends = "", 0, time.monotonic() + 30
    while until not in shown and time.monotonic() < ends:
        if select.select([terminal], [], [], 0.3)[0]:
            try:
                shown += os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                break
        elif sent < len(keys):
            os.write(terminal, keys[sent].encode())
            sent += 1
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown


(work / "rc").write_text("source ./chorale.bash\n")
shown = typed(["bash", "--noprofile", "--rcfile", "rc", "-i"], ["echo chorale; chorale topo\tsh\tdgx1 --do\t\n", "exit\n"], "digraph")
assert "chorale topology show dgx1 --dot" in shown and "digraph" in shown, shown

# -- fish ---------------------------------------------------------------------------------------------------
said = ""
if shutil.which("fish"):
    (work / "chorale.fish").write_text(run(chorale, "completion", "fish"))

    def in_fish(line):
        text = run("fish", "--no-config", "-c", f"source ./chorale.fish; complete -C '{line}'")
        return [offer.split("\t")[0] for offer in text.splitlines()]

    for path, below, names, _ in commands[::4]:
        offered = in_fish(" ".join(["chorale", *path, "-"]))
        assert set(names) <= set(offered), (path, offered, names)
        assert not below or set(below) <= set(in_fish(" ".join(["chorale", *path, ""]))), path
    assert in_fish("chorale synthesize dgx1 allgather --engine sm") == ["smt"]
    assert "dgx1" in in_fish("chorale frontier dgx")
else:
    said = "; LEFT OUT: fish is not installed"

# -- zsh ----------------------------------------------------------------------------------------------------
if shutil.which("zsh"):
    (work / "chorale.zsh").write_text(run(chorale, "completion", "zsh"))
    # What the function offers, by stand-ins for what only works inside of zsh's editor; they take what begins
    # as the last word.
    ASK_ZSH = """
compdef() { }
compset() { cur=${cur#*=} }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; for word in "$@"; do [[ $word == ${cur}* ]] && print -rn -- "$word "; done; true }
_describe() { local name=$@[-1]; compadd -- ${${(P)name}%%:*} }
_files() { [[ $1 == -/ ]] && compadd -- *(/N) || compadd -- *(N) }
source ./chorale.zsh
while IFS= read -r line; do
  words=("${(@s:\t:)line}")
  words=("${(@)words/#%<>/}")
  CURRENT=$#words
  _chorale
  print
done
"""

    def asked_in_zsh(lines):
        text = "".join("\t".join(["chorale", *words[:-1], words[-1] or "<>"]) + "\n" for words in lines)
        return [answer.split() for answer in run("zsh", "-f", "-c", ASK_ZSH, input=text).splitlines()]

    answers = asked_in_zsh([[*path, "-"] for path, _, _, _ in commands] + [[*path, ""] for path, below, _, _ in commands if below])
    for (path, _, names, _), offered in zip(commands, answers):
        assert sorted(offered) == sorted(names), (path, offered, names)
    for (path, below, _, _), offered in zip([each for each in commands if each[1]], answers[len(commands):]):
        assert sorted(offered) == sorted(below), (path, offered, below)
    for words, expected in CASES:
        if words[-1].endswith(":"):
            continue  # offers what is there already
        whole = "\t".join(words).replace("\t:\t", ":").replace("\t=\t", "=").split("\t")  # zsh cuts at blanks alone
        agree([whole[-1].split("=")[-1]], expected, asked_in_zsh([whole])[0])
    (work / ".zshrc").write_text("PS1='$ '; autoload -Uz compinit; compinit -u -D; source ./chorale.zsh\n")
    os.environ["ZDOTDIR"] = str(work)
    shown = typed(["zsh", "-d", "-i"], ["echo chorale; chorale topo\tsh\tdgx1 --do\t\n", "exit\n"], "digraph")
    assert "digraph" in shown, shown
    # As a package installs it: a function that zsh finds by its name.
    (work / "functions").mkdir()
    (work / "functions/_chorale").write_text((work / "chorale.zsh").read_text())
    (work / ".zshrc").write_text(f"PS1='$ '; fpath=({work}/functions $fpath); autoload -Uz compinit; compinit -u -D\n")
    shown = typed(["zsh", "-d", "-i"], ["echo chorale; chorale topo\tsh\tdgx1 --do\t\n", "exit\n"], "digraph")
    assert "digraph" in shown, shown
else:
    said += "; LEFT OUT: zsh is not installed"

# -- the manual ---------------------------------------------------------------------------------------------
if not shutil.which("help2man"):
    print(f"{len(commands)} commands complete{said}; LEFT OUT: help2man is not installed")
    sys.exit(0)
run(pathlib.Path(__file__).resolve().parents[2] / "packaging/manual.sh", chorale, "man/man1")
pages = {path.name: path for path in (work / "man/man1").iterdir()}
assert len(pages) == len(commands), (sorted(pages), len(commands))
checkers = [tool for tool in (["groff", "-man", "-ww", "-Tutf8", "-z"], ["mandoc", "-Tlint", "-Wwarning"]) if shutil.which(tool[0])]
for path, below, names, text in commands:
    page = pages["-".join(["chorale", *path]) + ".1"]
    for tool in checkers:
        done = run(*tool, page, code=None)
        # A date would be that of a build, which would not come out the same twice.
        said_of_it = [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]
        assert not said_of_it, f"{tool[0]}: {said_of_it}"
    if not shutil.which("groff"):
        continue
    read = re.sub(r"\x1b\[[0-9;]*m", "", run("groff", "-man", "-rHY=0", "-Tutf8", "-P-c", str(page)))
    read = re.sub(r".\x08", "", read)
    for name in names:
        assert re.search(rf"(^|[\s,]){re.escape(name)}[, \n{{]", read), (page.name, name)
    for command in below:
        assert "-".join(["chorale", *path, command]) + "(1)" in read, (page.name, command)
    # Every word of the help text, whatever the lines.
    for section in ("NAME", "SYNOPSIS", "OPTIONS"):
        assert re.search(rf"^{section}$", read, re.M), (page.name, section)
    said_there = set(re.findall(r"[\w.]+", read))
    missing = set(re.findall(r"[\w.]+", text)) - said_there - {"Usage", "Positionals", "Options", "Subcommands", "codes", "example", "examples", "exit", "SUBCOMMAND", "Excludes", "false"}
    assert not missing, (page.name, missing)
if not checkers:
    said += "; LEFT OUT: neither groff nor mandoc is installed"
print(f"{len(commands)} commands complete, {sum(len(names) for _, _, names, _ in commands)} options, {len(pages)} pages{said}")
