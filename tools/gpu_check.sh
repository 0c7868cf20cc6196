#!/usr/bin/env bash
# Everything that needs a GPU, in one go: builds, runs the tests of label gpu (our kernels on the GPU
# against the reference, bit for bit), records what they decided in fixtures/goldens/, so that the
# emulator stays pinned to the hardware on machines without one, and times the kernels into
# tools/bench/results/. Fails when there is no GPU.
#   --no-bench   leave the timing out
set -euo pipefail
cd "$(dirname "$0")/.."

bench=yes
for argument in "$@"; do
  case $argument in
    --no-bench) bench=no ;;
    *) echo "gpu_check: unknown argument '$argument'; known: --no-bench" >&2; exit 3 ;;
  esac
done

targets=(test_gpu_gpu test_differential_gpu test_differential_golden)
[[ $bench == no ]] || targets+=(kernels_bench)
tools/build.sh "${targets[@]}"
mkdir -p fixtures/goldens
export DRAFTPROOF_REQUIRE_GPU=1
build/test_gpu_gpu
DRAFTPROOF_UPDATE_GOLDENS=1 build/test_differential_gpu
build/test_differential_golden

if [[ $bench == yes ]]; then
  mkdir -p tools/bench/results
  name=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr -c 'A-Za-z0-9\n' '_')
  build/kernels_bench --benchmark_out="tools/bench/results/kernels_$name.json" \
    --benchmark_out_format=json
fi
git status --short fixtures/goldens tools/bench/results
