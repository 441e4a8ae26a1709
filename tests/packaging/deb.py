#!/usr/bin/env python3
"""The package for Debian: made, and read again with dpkg-deb. That it installs and works where nothing else
is, packaging/clean_root.sh shows, which takes minutes and a network.

Usage: deb.py CPACK BUILD
"""
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, skip, work  # noqa: E402

cpack, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
missing = [tool for tool in ("dpkg-deb", "dpkg-shlibdeps") if not shutil.which(tool)]
if missing:
    skip(f"no {' and no '.join(missing)} here (Debian: dpkg-dev)")


# Uncompressed: to compress takes longer than all else.
run(cpack, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", "--config", str(build / "CPackConfig.cmake"), "-B", str(work))
(package,) = work.glob("chorale_*.deb")
version = re.search(r"set\(CPACK_PACKAGE_VERSION \"(.*)\"\)", (build / "CPackConfig.cmake").read_text())[1]
field = {name: run("dpkg-deb", "--field", str(package), name).strip() for name in ("Package", "Version", "Architecture", "Depends", "Maintainer", "Section")}
assert field["Package"] == "chorale" and field["Version"] == version and field["Section"] == "science" and "<" in field["Maintainer"], field
assert "@localhost>" not in field["Maintainer"] and "authors" not in field["Maintainer"], field  # they promise nothing
depends = {one.split()[0] for one in field["Depends"].split(", ")}
assert {"libc6", "libstdc++6", "libgcc-s1"} <= depends, depends
assert not [one for one in depends if one.endswith("-dev") or "python" in one or "nccl" in one or "chorale" in one], depends

files = {}
for line in run("dpkg-deb", "--contents", str(package)).splitlines():
    mode, owner, _, _, _, path = line.split(None, 5)
    assert owner == "root/root" and re.match(r"lrwxrwxrwx|[-d]rw..-..-.", mode), line
    files[path.split(" -> ")[0].removeprefix("./")] = mode
soname = ".".join(version.split(".")[:2])
for path in ("usr/bin/chorale", "usr/lib/libchorale.so", f"usr/lib/libchorale.so.{soname}", f"usr/lib/libchorale.so.{version}", "usr/lib/libchorale-z3.so",
             "usr/lib/libchorale-sqlite.so", "usr/lib/libchorale-mpi-preload.so", "usr/include/chorale/chorale.h", "usr/include/chorale/chorale_c.h",
             "usr/include/chorale/mpi.h", "usr/lib/pkgconfig/chorale.pc", "usr/lib/cmake/chorale/choraleConfig.cmake", "usr/share/bash-completion/completions/chorale",
             "usr/share/zsh/vendor-completions/_chorale",
             *(["usr/share/man/man1/chorale.1", "usr/share/man/man1/chorale-library-build.1"] if shutil.which("help2man") else [])):
    assert path in files, (path, sorted(files))
# Of Python there are the modules that the program runs, and nothing compiled.
others = [path for path in files if not path.startswith("usr/share/chorale/python/")]
assert not [path for path in others if path.endswith(".py")] and not [path for path in files if "_chorale." in path or path.endswith((".a", ".pyc", ".gcda"))], files
assert "usr/share/chorale/python/chorale/command.py" in files, files
assert all(path.startswith("usr/") for path in files), files

# There is no licence, and it reports it; of what is compiled in there are, and they are there.
run("dpkg-deb", "--extract", str(package), str(work / "root"))
words = (work / "root/usr/share/doc/chorale/copyright").read_text()
assert words.startswith("Chorale has no licence.") and not any((build.parent.parent / name).exists() for name in ("LICENSE", "COPYING")), words
for part, phrase in (("libcadical-dev", "Biere"), ("nlohmann-json3-dev", "Lohmann"), ("libcli11-dev", "Schreiner")):
    text = pathlib.Path(f"/usr/share/doc/{part}/copyright")
    assert not text.exists() or (phrase in words and text.read_text() in words), part

# As it lies there it runs, with what this machine has; and nothing in it knows where it was built.
programs = [work / "root" / path for path in files if re.search(r"bin/chorale$|\.so(\.[\d.]+)?$", path)]
for program in programs:
    assert b".symtab" not in program.read_bytes()[-1 << 16:], f"{program.name} is not stripped"
    dynamic = run("readelf", "-d", str(program))
    paths = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic)
    assert all(part.startswith("$ORIGIN") for path in paths for part in path.split(":") if part), (program, paths)
assert run(str(work / "root/usr/bin/chorale"), "--version") == f"chorale {version}\n"
said = run(str(work / "root/usr/bin/chorale"), "frontier", "ring:4", "allgather", "--max-chunks", "2")
assert "every point is proven" in said, said
table = run(str(work / "root/usr/bin/chorale"), "optimize", str(build.parents[1] / "examples/h100.txt"), "allreduce", env={"PATH": "/nowhere"}, code=3)
assert "NVLS Simple" in table and "search: ended, and not all rows are proven" in " ".join(table.split()), table
(work / "calls.csv").write_text("collective,ranks,bytes\nallreduce,4,1024\n")
assert "allreduce" in run(str(work / "root/usr/bin/chorale"), "job", "calls.csv")
print(f"{package.name}: {len(files)} files, {len(depends)} packages that it needs")
