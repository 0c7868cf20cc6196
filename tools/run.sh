#!/usr/bin/env bash
# Sets up on first use, builds what is stale, then runs `draftproof ARGS`. Without arguments:
# the demonstration.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
"$here/tools/build.sh" draftproof
exec "$here/build/draftproof" "$@"
