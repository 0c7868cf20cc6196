#!/usr/bin/env bash
# Everything that needs a GPU, in one go and under ten minutes behind the build: the tests of label
# gpu (our kernels on the GPU against the reference, bit for bit), goldens that pin the emulator to
# what the GPU decided, the properties on the GPU, and times of our kernels and of others', whose PTX
# was fetched before (tools/kernels/fetch.sh). What is to be committed lies in fixtures/goldens and
# tools/bench/results afterwards. Fails when there is no GPU.
#   --no-bench         leaves the times out
#   --dry-run          the same steps with the emulated device in the GPU's place, on little, writing
#                      into a scratch folder: run by every test run, so that the first real run is
#                      not lost to a slip. Builds nothing: takes what the build folder holds
#   --build-dir DIR    the build folder of a dry run; default build
set -euo pipefail
cd "$(dirname "$0")/.."

bench=yes dry=no build=build
while [[ $# -gt 0 ]]; do
  case $1 in
    --no-bench) bench=no ;;
    --dry-run) dry=yes ;;
    --build-dir)
      [[ -n ${2:-} ]] || {
        echo "gpu_check: --build-dir takes a folder" >&2
        exit 3
      }
      build=$2
      shift
      ;;
    *)
      echo "gpu_check: unknown argument '$1'; known: --no-bench, --dry-run, --build-dir DIR" >&2
      exit 3
      ;;
  esac
  shift
done

targets=(test_gpu_gpu test_differential_gpu test_differential_golden draftproof)
if [[ $dry == yes ]]; then
  for target in "${targets[@]}"; do
    [[ -x $build/$target ]] || {
      echo "gpu_check: there is no $build/$target; build it, or name the folder with --build-dir" >&2
      exit 3
    }
  done
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  goldens=$scratch/goldens results=$scratch/results reports=$scratch/report
  name=emulator device=emulator
  shapes=(--vocab 1000 --requests 1,2 --draft-length 2)
  properties=(kernel_equals_reference --rule chain)
  export DRAFTPROOF_GPU_STAND_IN=emulator
else
  [[ $build == build ]] || {
    echo "gpu_check: --build-dir belongs to --dry-run; a real run builds into build" >&2
    exit 3
  }
  # Asked before the build, which takes minutes.
  name=$(nvidia-smi --query-gpu=name --format=csv,noheader | sed -n 1p | tr -c 'A-Za-z0-9\n' '_') || {
    echo "gpu_check: nvidia-smi names no GPU; run it where there is one, or --dry-run" >&2
    exit 3
  }
  tools/build.sh "${targets[@]}"
  goldens=fixtures/goldens results=tools/bench/results reports=draftproof-report
  device=cuda
  shapes=(--vocab 32000,128256 --requests 1,4,16,64)
  properties=()
fi
mkdir -p "$goldens" "$results"
export DRAFTPROOF_REQUIRE_GPU=1 DRAFTPROOF_GOLDEN_FOLDER=$goldens

# step SECONDS COMMAND...: runs it under a limit. One that fails does not keep the others from
# running: time on a GPU is short.
failed=0
step() {
  local limit=$1 began=$SECONDS
  shift
  echo "gpu_check: $*" >&2
  if timeout "$limit" "$@" >&2; then
    echo "gpu_check: took $((SECONDS - began)) s" >&2
  else
    echo "gpu_check: FAILED after $((SECONDS - began)) s (limit $limit s): $*" >&2
    failed=$((failed + 1))
  fi
}

step 60 "$build/test_gpu_gpu"
DRAFTPROOF_UPDATE_GOLDENS=1 step 90 "$build/test_differential_gpu"
step 60 "$build/test_differential_golden"
step 90 "$build/draftproof" check "${properties[@]}" --subject kernels --device "$device" \
  --battery smoke --report json --report-dir "$reports" --progress none

written=("$goldens"/kernels_*.txt)
if [[ $bench == yes ]]; then
  for heat in warm cold; do
    file=$results/cost_${name}_$heat.json
    options=(--device "$device" "${shapes[@]}" --filters both --write "$file")
    [[ $heat == warm ]] || options+=(--cold)
    step 140 "$build/draftproof" profile "${options[@]}"
    written+=("$file")
  done
  if command -v python3 >/dev/null; then
    for file in "$results/cost_${name}"_*.json; do
      step 10 python3 -c 'import json, sys
rows = [row for row in json.load(open(sys.argv[1]))["rows"] if row["skipped"] is None]
timed = sys.argv[2] == "cuda"
assert rows and all((row["timing"] is not None) == timed for row in rows), "no row was measured"' \
        "$file" "$device"
    done
  fi
fi
for file in "${written[@]}"; do
  [[ -s $file ]] || {
    echo "gpu_check: FAILED: $file was not written" >&2
    failed=$((failed + 1))
  }
done
[[ $dry == yes ]] || git status --short fixtures/goldens tools/bench/results
if [[ $failed != 0 ]]; then
  echo "gpu_check: $failed steps failed; what the others wrote is there" >&2
  exit 1
fi
echo "gpu_check: every step passed; ${#written[@]} files in $goldens and $results"
