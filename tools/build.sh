#!/usr/bin/env bash
# Sets up on first use, then builds the given targets (all of them when none is given) into build/.
# Quiet when there is nothing to do. Run by run.sh and test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh
nvcc=$(cat build/nvcc)
cuda=${DRAFTPROOF_CUDA:-AUTO}
configured="$nvcc $cuda"
if [[ ! -f build/build.ninja || $(cat build/configured 2>/dev/null) != "$configured" ]]; then
  rm -f build/CMakeCache.txt
  [[ -z $nvcc ]] || export CUDACXX=$nvcc
  cmake -S . -B build -G Ninja -DDRAFTPROOF_CUDA="$cuda" >build/cmake.log 2>&1 || {
    tail -20 build/cmake.log >&2
    echo "build: cmake failed (build/cmake.log)" >&2
    exit 3
  }
  printf '%s\n' "$configured" >build/configured
fi
if ! ninja -C build -n "$@" | grep -q 'no work to do'; then
  echo "build: compiling (first time: a few minutes)" >&2
  ninja -C build "$@" >&2
fi
