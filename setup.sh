#!/usr/bin/env bash
# Installs what the program needs on Debian 12, with --tests what its tests need as well, and
# configures build/release.
# Usage: ./setup.sh [--tests]. On another system: install their like by hand, and `cmake --preset release`.
set -euo pipefail
cd "$(dirname "$0")"
[ $# -eq 0 ] || [ "$*" = --tests ] || { echo "usage: ./setup.sh [--tests]" >&2; exit 2; }

packages=(g++ cmake ninja-build pkg-config libcadical-dev libz3-dev libbliss-dev libgmp-dev coinor-libclp-dev libcli11-dev
          nlohmann-json3-dev libpugixml-dev libfmt-dev libhwloc-dev libssl-dev libsqlite3-dev zlib1g-dev libopenmpi-dev openmpi-bin graphviz)
[ "${1:-}" = "" ] || packages+=(git make python3 python3-dev python3-venv python3-numpy python3-torch python3-distributed pybind11-dev libblas-dev libgtest-dev libgmock-dev hpcc python3-mpi4py clang-format)
[ "${1:-}" = "" ] || packages+=(dpkg-dev help2man mandoc groff-base fish zsh python3-jsonschema mkdocs libsimgrid-dev protobuf-compiler chromium chromium-driver python3-selenium)
command -v dpkg-query apt-get >/dev/null || { echo "setup.sh: this is not Debian; install the like of: ${packages[*]}" >&2; exit 2; }

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup.sh: neither root nor sudo; as root: apt-get install ${missing[*]}" >&2; exit 2; }
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

cmake --preset release
