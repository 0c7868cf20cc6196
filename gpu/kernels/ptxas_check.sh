#!/usr/bin/env bash
# Assembles PTX for sm_80, sm_90 and sm_100 and holds what ptxas says of each entry against a
# table: one line an entry and architecture, with registers, spilled bytes, stack, shared memory.
#
#   ptxas_check.sh PTXAS TABLE FILE.ptx...
#   ptxas_check.sh PTXAS - FILE.ptx...       prints the table and compares nothing
#
# Fails when a text does not assemble, when a register spills (whatever the table says), when an
# entry needs more registers or more memory than its line, when an entry has no line, and when a
# line has no entry. DRAFTPROOF_UPDATE_GOLDENS=1 writes the table instead, unless something spills.
# Another version of ptxas than the table's allots registers otherwise: only spills count then.
#
# The table has a hash of each text, comments, line numbers and debug strings aside, in which nvcc
# names the folder it ran in. What ptxas said of a text it says again, so that one that is as it was
# is assembled for sm_90 only; its other lines hold.
# PTXAS_CHECK_ARCHITECTURES: others, to print. One process a text and architecture, one a core.
set -euo pipefail
export LC_ALL=C

if [[ $# -lt 3 ]]; then
  echo "ptxas_check: takes PTXAS TABLE FILE.ptx..." >&2
  exit 3
fi
ptxas=$1 table=$2
shift 2
read -ra architectures <<<"${PTXAS_CHECK_ARCHITECTURES:-sm_80 sm_90 sm_100}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

version=$("$ptxas" --version | sed -n 's/.*, V\([0-9.]*\).*/\1/p')
is_update=no
[[ ${DRAFTPROOF_UPDATE_GOLDENS:-} != 1 ]] || is_update=yes
touch "$scratch/texts" "$scratch/known"

# is_known LINE: the table has it, is of this ptxas, and is to be held to.
is_known() {
  [[ $is_update == no && -f $table && $(head -1 "$table") == "# ptxas $version" ]] &&
    grep -qxF "$1" "$table"
}

for file in "$@"; do
  name=$(basename "$file" .ptx)
  hash=$(sed -e 's#[[:space:]]*//.*##' -e '/^[[:space:]]*\(\.loc.*\|\.file.*\|\.b8 .*\|\)$/d' \
    "$file" | sha256sum | cut -c1-16)
  echo "# text $name $hash" >>"$scratch/texts"
  for architecture in "${architectures[@]}"; do
    if [[ $architecture != sm_90 ]] && is_known "# text $name $hash"; then
      grep "^$name,[^,]*,$architecture," "$table" >>"$scratch/known" || true
    else
      printf '%s\0%s\0' "$architecture" "$file"
    fi
  done
done | xargs -0 -P "$(nproc)" -n 2 bash -c '
  name=$(basename "$4" .ptx)
  if ! "$1" -arch="$3" -v -o /dev/null "$4" >"$2/$name.$3" 2>&1; then
    { echo "ptxas_check: $name.ptx does not assemble for $3:"; head -20 "$2/$name.$3"; } >&2
    exit 1
  fi' ptxas_check "$ptxas" "$scratch" || exit 1

# The reports become lines of the table.
header=module,entry,architecture,registers,spilled_bytes,stack_bytes,shared_bytes
for report in "$scratch"/*.sm_*; do
  name=$(basename "$report")
  awk -v module="${name%.*}" -v architecture="${name##*.}" '
    function number_before(word) { return match($0, "[0-9]+ " word) ? substr($0, RSTART) + 0 : 0 }
    /Compiling entry function/ { split($0, part, "\047"); entry = part[2] }
    /bytes stack frame/ {
      stack = number_before("bytes stack frame")
      spilled = number_before("bytes spill stores") + number_before("bytes spill loads")
    }
    /Used [0-9]+ registers/ {
      match($0, "Used [0-9]+")
      registers = substr($0, RSTART + 5, RLENGTH - 5)
      shared = number_before("bytes smem")
      printf "%s,%s,%s,", module, entry, architecture
      printf "%d,%d,%d,%d\n", registers, spilled, stack, shared
      seen = 1
    }
    END {
      if (seen) exit 0
      print "ptxas_check: " module ": no entry for " architecture > "/dev/stderr"
      exit 1
    }
  ' "$report"
done | sort - "$scratch/known" >"$scratch/lines" || exit 1
{
  echo "# ptxas $version"
  sort "$scratch/texts"
  echo "$header"
  cat "$scratch/lines"
} >"$scratch/table"

if [[ $table == - ]]; then
  cat "$scratch/table"
  exit 0
fi
if spilled=$(awk -F, '$5 > 0 { print "  " $2 " for " $3 ": " $5 " bytes"; found = 1 }
                      END { exit !found }' "$scratch/lines"); then
  printf 'ptxas_check: registers spill in\n%s\n' "$spilled" >&2
  exit 1
fi
entries=$(wc -l <"$scratch/lines")
if [[ $is_update == yes ]]; then
  cp "$scratch/table" "$table"
  echo "ptxas_check: wrote $entries lines to $table"
  exit 0
fi
if [[ ! -f $table ]]; then
  echo "ptxas_check: there is no $table; DRAFTPROOF_UPDATE_GOLDENS=1 writes it" >&2
  exit 1
fi
if [[ $(head -1 "$table") != "# ptxas $version" ]]; then
  echo "ptxas_check: nothing spills in $entries lines; the table is of" \
    "$(head -1 "$table" | cut -c3-), this is $version, so that registers are not compared"
  exit 0
fi
awk -F, -v table="$table" '
  /^#/ || $1 == "module" { next }
  { key = $2 " for " $3 }
  FNR == NR { known[key] = 1; registers[key] = $4; stack[key] = $6; shared[key] = $7; next }
  !(key in known) { print "  " key " is not in the table"; bad = 1; next }
  { delete known[key] }
  $4 > registers[key] { print "  " key ": " $4 " registers, not " registers[key]; bad = 1 }
  $6 > stack[key] { print "  " key ": " $6 " bytes of stack, not " stack[key]; bad = 1 }
  $7 > shared[key] { print "  " key ": " $7 " bytes of shared memory, not " shared[key]; bad = 1 }
  END {
    for (key in known) { print "  " key " is in the table and nowhere else"; bad = 1 }
    exit bad
  }' "$table" "$scratch/lines" >"$scratch/differences" || {
  {
    echo "ptxas_check: $table no longer holds:"
    cat "$scratch/differences"
    echo "ptxas_check: if that is meant, DRAFTPROOF_UPDATE_GOLDENS=1 writes the table"
  } >&2
  exit 1
}
echo "ptxas_check: $entries lines, none spills, none needs more than $table says"
