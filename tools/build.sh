#!/usr/bin/env bash
# Sets up on first use, then builds the given targets (all of them when none is given) into build/.
# Quiet when there is nothing to do. One build at a time: a second waits for the first. Run by
# run.sh and test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build
exec 9>build/lock
flock -n 9 || {
  echo "build: waiting for another build in this folder" >&2
  flock 9
}

tools/setup.sh
nvcc=$(cat build/nvcc)
cuda=${DRAFTPROOF_CUDA:-AUTO}
configured="$PWD $nvcc $cuda batches"
[[ -z $nvcc ]] || export CUDACXX=$nvcc
if [[ ! -f build/build.ninja || $(cat build/configured 2>/dev/null) != "$configured" ]]; then
  # What was configured before is not lost where this fails.
  [[ ! -f build/CMakeCache.txt ]] || mv build/CMakeCache.txt build/CMakeCache.before
  cmake -S . -B build -G Ninja -DDRAFTPROOF_CUDA="$cuda" -DDRAFTPROOF_BATCHES=ON >build/cmake.log 2>&1 || {
    tail -20 build/cmake.log >&2
    [[ ! -f build/CMakeCache.before ]] || mv build/CMakeCache.before build/CMakeCache.txt
    echo "build: cmake failed (build/cmake.log)" >&2
    exit 3
  }
  printf '%s\n' "$configured" >build/configured
fi

# Looks for sources that came or went. A dry run cannot: it would stop here, before it has looked at
# any target, and never say that there is nothing to do. So it gets a file that ninja does not renew.
ninja -C build build.ninja >build/cmake.log 2>&1 || {
  tail -20 build/cmake.log >&2
  echo "build: cmake failed (build/cmake.log)" >&2
  exit 3
}
echo 'include build.ninja' >build/dry_run.ninja
if ! ninja -C build -f dry_run.ninja -n "$@" | grep -q 'no work to do'; then
  echo "build: compiling (first time: a few minutes)" >&2
  ninja -C build "$@" >&2
fi
