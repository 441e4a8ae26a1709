#!/usr/bin/env bash
# Makes a virtual environment with the current PyTorch of PyPI, for the tests and figures that need
# torch.compile; Debian's 1.13 has none. It takes some GB (of which CPUs need a tenth), so it is no part of
# setup.sh, and its folder is in build/ or outside the tree. ./test.sh --torch uses it.
# Usage: benchmarks/torch_env.sh FOLDER [VERSION]. Then
# CHORALE_TORCH_PYTHON=FOLDER/bin/python names it for ctest.
set -euo pipefail
[ $# -ge 1 ] && [ $# -le 2 ] && [[ $1 != -* ]] || { echo "usage: benchmarks/torch_env.sh FOLDER [VERSION]" >&2; exit 2; }
tree=$(cd "$(dirname "$0")/.." && pwd) folder=$(realpath -m "$1")
case $folder/ in "$tree"/build/*/) ;; "$tree"/*) echo "torch_env.sh: $folder: is in the source tree; name a folder outside of it or in build/" >&2; exit 2 ;; esac
base=python3
[ ! -x /usr/bin/python3 ] || base=/usr/bin/python3  # Debian's, for which the extension of the package is built
if ! [ -x "$folder/bin/python" ]; then
  [ ! -e "$folder" ] || [ -z "$(ls -A "$folder")" ] || { echo "torch_env.sh: $folder: is there, and is no virtual environment; name another folder" >&2; exit 2; }
  "$base" -m venv "$folder" || { echo "torch_env.sh: $folder: cannot be made; Debian: apt-get install python3-venv" >&2; exit 2; }
fi
"$folder/bin/pip" install --quiet --disable-pip-version-check "torch==${2:-2.15.0}" numpy
"$folder/bin/python" - <<'PYTHON'
import torch
import torch.distributed

assert torch.distributed.is_gloo_available(), "this PyTorch has no gloo"
print(f"PyTorch {torch.__version__}, torch.compile: {'yes' if hasattr(torch, 'compile') else 'no'}")
PYTHON
echo "export CHORALE_TORCH_PYTHON=$folder/bin/python"
