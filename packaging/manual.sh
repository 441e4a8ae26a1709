#!/usr/bin/env bash
# The pages of the manual for man, one for each command, made of the help texts by help2man (Debian).
# Usage: packaging/manual.sh CHORALE FOLDER
set -euo pipefail
chorale=$1 folder=$2
mkdir -p "$folder"
version=$("$chorale" --version)

# Without a date, so that a page depends on the program alone. Commands below one are what completes after it,
# with a description; options, which have one as well, begin with "-". A page leads to theirs, or to that of
# the command above.
page() {  # HELP COMMAND...
  local help=$1 name=chorale line
  shift
  for line in "$@"; do name+=-$line; done
  local below
  below=$("$chorale" __complete "$@" "" | grep $'\t' || true)
  { echo "[see also]"; cut -f1 <<<"$below" | sed "s/..*/.BR $name-& (1)/; s/^$/.BR ${name%-*} (1)/; s/-/\\\\-/g"; } >"$folder/include"
  help2man --no-info --version-string "${version#* }" --source "$version" --name "$help" --include "$folder/include" \
    "$chorale${*:+ $*}" |
    sed -E -e 's/^(\.TH )\S+ "1" "[^"]*"/\1'"${name^^}"' 1 ""/' -e "s/^chorale( $*)? \\\\- /$name \\\\- /" >"$folder/$name.1"
  while IFS=$'\t' read -r line help; do
    [ -z "$line" ] || page "$help" "$@" "$line"
  done <<<"$below"
}
page "collective communication algorithms for your machine, with bounds and proofs"
rm "$folder/include"
