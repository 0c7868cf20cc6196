#!/usr/bin/env bash
# Sets up, builds, and runs every test but the labels gpu and thirdparty.
#   --thirdparty   also the tests that need what tools/{kernels,engines}/fetch.sh bring
#   anything else is handed to ctest (for instance -L exact, -R Chain)
# The output ends with ctest's own closing lines; skipped tests are counted just before them.
set -euo pipefail
cd "$(dirname "$0")/.."

excluded='gpu|thirdparty'
arguments=()
for argument in "$@"; do
  if [[ $argument == --thirdparty ]]; then excluded='gpu'; else arguments+=("$argument"); fi
done

tools/build.sh
ctest --test-dir build -LE "^($excluded)\$" --output-on-failure -j "$(nproc)" "${arguments[@]}" |
  awk '/\*\*\*Skipped/ { skipped++ }
       /% tests passed/ { print "Skipped tests: " skipped + 0 }
       { print; fflush() }'
