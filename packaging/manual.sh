#!/usr/bin/env bash
# The pages of the manual for man, one for each command, made of the help texts by help2man (Debian).
# Usage: packaging/manual.sh CHORALE FOLDER
set -euo pipefail
chorale=$1 folder=$2
mkdir -p "$folder"
version=$("$chorale" --version)

# Without a date, so that a page depends on the program alone. Commands below one are what completes after it,
# with a description; options, which have one as well, begin with '-'.
page() {  # HELP COMMAND...
  local help=$1 name=chorale below
  shift
  for below in "$@"; do name+=-$below; done
  help2man --no-info --version-string "${version#* }" --source "$version" --name "$help" "$chorale${*:+ $*}" |
    sed -E 's/^(\.TH )\S+ "1" "[^"]*"/\1'"${name^^}"' 1 ""/' >"$folder/$name.1"
  while IFS=$'\t' read -r below help; do
    [ -z "$help" ] || page "$help" "$@" "$below"
  done < <("$chorale" __complete "$@" "")
}
page "collective communication algorithms for your machine, with bounds and proofs"
