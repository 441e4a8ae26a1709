#!/usr/bin/env python3
"""Libraries that are loaded into the process are looked for where nobody else could have put them: another user
prepares every place whose name can be guessed, and what is loaded is never theirs.

Usage: cache.py CHORALE FOLDER
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from torch_ranks import started

folder = sys.argv[2]
torch = started([1])

from chorale import cache, workload  # noqa: E402

ANOTHER = 65534
is_root = os.geteuid() == 0
scratch = pathlib.Path(tempfile.mkdtemp(prefix="chorale_cache_"))
scratch.chmod(0o755)
shared = scratch / "shared"  # as /tmp is
shared.mkdir()
shared.chmod(0o1777)
file = scratch / "twice.chorale"
file.write_text("workload twice\nsize N = 8\nTensor x(fp32, [N], Replicated)\ny = 2 * x\nreturn y\n")
# Instead of a compiler: who loads what is the question here.
program = scratch / "program"
program.write_text("""#!/bin/sh
while [ "$1" != -o ]; do shift; done
[ ! -d "$2" ] || printf 'library:\\n\\techo ours >libtwice.so; echo "{}" >twice.json\\n' >"$2/Makefile"
[ -d "$2" ] || echo twice >"$2"
""")
program.chmod(0o755)
os.environ["CHORALE"] = str(program)


def refused(says, call):
    try:
        call()
    except PermissionError as error:
        assert says in str(error) and "\n" not in str(error) and ";" in str(error), error
    else:
        raise AssertionError(f"taken, where {says!r} was to be said")


def built(directory=None):
    return workload.built(file, "full:2", 1, directory=directory)


def home(name, **variables):
    """A fresh HOME, and nothing else that says where the cache is."""
    path = scratch / name
    path.mkdir(exist_ok=True)
    os.environ.pop("XDG_CACHE_HOME", None)
    os.environ.update(HOME=str(path), TMPDIR=str(shared), **variables)
    tempfile.tempdir = None
    return path


# What an attacker puts where the cache was once: in the folder for temporary files, under the user's number.
planted = built(shared / f"chorale-{os.getuid()}")
(planted / "libtwice.so").write_text("theirs")
mine = built() if home("victim") else None
assert mine.parent == scratch / "victim/.cache/chorale" and (mine / "libtwice.so").read_text() == "ours\n", mine
assert mine.parent.stat().st_mode & 0o777 == 0o700 and mine.stat().st_mode & 0o777 == 0o700
assert built() == mine

# Whatever the umask was, nobody else can write to what is kept.
home("open")
os.umask(0)
again = built()
assert not any(path.stat().st_mode & 0o022 for path in [again.parent, again, *again.rglob("*")])
os.umask(0o022)

# By XDG's variable, which has to be an absolute path.
home("xdg", XDG_CACHE_HOME=str(scratch / "elsewhere"))
assert built().parent == scratch / "elsewhere/chorale"
home("relative", XDG_CACHE_HOME="elsewhere")
assert built().parent == scratch / "relative/.cache/chorale"

# Modes, of the directory, of what lies in it, and above it.
for mode in (0o777, 0o770, 0o1777):
    mine.parent.chmod(mode)
    home("victim")
    refused("others may write to it", built)
mine.parent.chmod(0o700)
for path in (mine, mine / "libtwice.so", mine / "twice.json"):
    before = path.stat().st_mode
    path.chmod(before | 0o002)
    refused("others may write to it", built)
    path.chmod(before)
assert built() == mine
(scratch / "victim/.cache").chmod(0o777)
refused(f"{scratch}/victim/.cache: others may write to it", built)
(scratch / "victim/.cache").chmod(0o1777)  # sticky, and ours
assert built() == mine
(scratch / "victim/.cache").chmod(0o755)
given = scratch / "given"
given.mkdir()
given.chmod(0o777)
refused("others may write to it", lambda: built(given))

# Links: the directory, a library's folder, a file in it.
home("linked")
(scratch / "linked/.cache").mkdir()
(scratch / "linked/.cache/chorale").symlink_to(mine.parent)
refused("is a link", built)
refused("is a link", lambda: built(scratch / "linked/.cache/chorale"))
home("victim")
moved = mine.with_name("moved")
mine.rename(moved)
mine.symlink_to(moved)
refused("is a link", built)
mine.unlink()
moved.rename(mine)
(mine / "libtwice.so").rename(scratch / "libtwice.so")
(mine / "libtwice.so").symlink_to(scratch / "libtwice.so")
refused("is a link", built)
(mine / "libtwice.so").unlink()
(scratch / "libtwice.so").rename(mine / "libtwice.so")

# Other owners, which only root can make.
if is_root:
    for path in (mine.parent, mine, mine / "libtwice.so", scratch / "victim"):
        os.chown(path, ANOTHER, ANOTHER)
        refused(f"{path}: belongs to another user", built)
        os.chown(path, 0, 0)
    assert built() == mine

# A HOME in which nothing can be made, and none. Root can write everywhere, so another user asks.
locked = home("locked")
locked.chmod(0o500)
ask = [sys.executable, "-c", f"import importlib.util as u; s = u.spec_from_file_location('cache', {cache.__file__!r}); "
       "c = u.module_from_spec(s); s.loader.exec_module(c)\ntry: c.cache()\nexcept PermissionError as e: print(e)"]
become = {"user": ANOTHER, "group": ANOTHER, "extra_groups": []} if is_root else {}
if is_root:
    os.chown(locked, ANOTHER, ANOTHER)
readable = os.access(cache.__file__, os.R_OK) and all(path.stat().st_mode & 0o001 for path in pathlib.Path(cache.__file__).resolve().parents)
if readable or not is_root:
    said = subprocess.run(ask, capture_output=True, text=True, cwd="/", env={"PATH": os.environ["PATH"], "HOME": str(locked)}, **become).stdout
    assert "cannot be made: Permission denied; set XDG_CACHE_HOME" in said, said
found, pathlib.Path.home = pathlib.Path.home, lambda: (_ for _ in ()).throw(RuntimeError("no home"))
os.environ.pop("XDG_CACHE_HOME", None)
refused("there is no HOME; set XDG_CACHE_HOME", built)
pathlib.Path.home = found

shutil.rmtree(scratch)
