#!/usr/bin/env bash
# Installs what Chorale needs on Debian 12 and configures and builds it. Usage: ./setup.sh [preset], default release.
set -euo pipefail
cd "$(dirname "$0")"
preset=${1:-release}

packages=(g++ make cmake ninja-build pkg-config python3 libcadical-dev libz3-dev libbliss-dev libgmp-dev coinor-libclp-dev libcli11-dev
          nlohmann-json3-dev libpugixml-dev libfmt-dev libssl-dev libopenmpi-dev openmpi-bin libgtest-dev libgmock-dev hpcc clang-format)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "installing: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

cmake --preset "$preset"
cmake --build --preset "$preset"
