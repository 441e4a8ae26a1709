#!/usr/bin/env bash
# The package in a root where nothing else is: Debian's minimal system (mmdebstrap), entered by chroot. It is
# installed there with what it needs, `chorale` runs, a C++ program is built by find_package(chorale), a C
# program by pkg-config, and both run; man finds the pages, bash completes; and removed again nothing of it is
# left. Takes minutes, root and Debian's archive; -k keeps the root.
# Usage: packaging/clean_root.sh [-k] [BUILD]          (build/release), e.g. >
# benchmarks/results/clean_root.log
set -euo pipefail
keep=; [ "${1:-}" != -k ] || { keep=1; shift; }
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$here/build/release}" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "clean_root.sh: chroot wants root" >&2; exit 2; }
command -v mmdebstrap >/dev/null || { echo "clean_root.sh: no mmdebstrap (Debian: mmdebstrap)" >&2; exit 2; }
work=$(mktemp -d -t chorale_root_XXXXXX)
root=$work/root
cleanup() {
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  [ -n "$keep" ] && echo "kept: $work" || rm -rf --one-file-system "$work"
}
trap cleanup EXIT

cpack --config "$build/CPackConfig.cmake" -B "$work" >"$work/cpack.log" 2>&1
package=$(echo "$work"/chorale_*.deb)
echo "$(basename "$package"): $(stat -c %s "$package") bytes; $(git -C "$here" describe --always --dirty 2>/dev/null || true)"
mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$root"
cp "$package" "$root/root/"
cp "$here/examples/public_api.c" "$here/examples/public_api.cpp" "$here/examples/h100.txt" "$root/root/"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"  # Open MPI and hwloc read it
# What runs inside says what it does; -e: the first that fails ends it.
inside() { echo "# $*"; chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 bash -euo pipefail -c "cd /root && $*"; }

inside "dpkg -l | grep -c ^ii"
# A minimal root leaves documents out; the manual is to be seen.
rm -f "$root"/etc/dpkg/dpkg.cfg.d/*
inside "apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends ./chorale_*.deb | grep -E '^(Setting up chorale|[0-9]+ upgraded)|Need to get'"
inside "chorale --version"
inside "time (chorale optimize h100.txt allreduce || [ \$? -eq 3 ]) | tail -3"  # 3: some rows are not proven
inside "chorale frontier dgx1 allgather --max-chunks 6 --json f.json | tail -3"
inside "chorale check f.json"
inside "chorale run f.json --sizes 64K | tail -2"
inside "ldconfig -p | grep -o 'libchorale.so.0[^ ]*'"
echo "(compilers, CMake, pkg-config, man)"
inside "apt-get install -y -q --no-install-recommends g++ cmake make pkg-config man-db bash-completion >/dev/null 2>&1; dpkg -l | grep -c ^ii"
inside "printf 'cmake_minimum_required(VERSION 3.20)\nproject(outside CXX)\nfind_package(chorale 0.1 REQUIRED)\nadd_executable(outside public_api.cpp)\ntarget_link_libraries(outside PRIVATE chorale::chorale)\n' > CMakeLists.txt && cmake -S . -B made >/dev/null && cmake --build made | tail -1 && ./made/outside ring:4 4096 /tmp"
inside "cc -std=c99 -Wall -Werror public_api.c \$(pkg-config --cflags --libs chorale) -o from_c && ./from_c ring:4 4096 /tmp"
inside "man chorale-frontier | head -5"
inside "source /usr/share/bash-completion/bash_completion && _completion_loader chorale || true; COMP_WORDS=(chorale fron); COMP_CWORD=1; _chorale; echo \${COMPREPLY[*]}"
inside "dpkg --purge chorale 2>&1 | tail -1; ! find /usr -xdev -iname '*chorale*' | grep ."
echo "clean root: installed, used from the shell, from C++ and from C, and removed"
