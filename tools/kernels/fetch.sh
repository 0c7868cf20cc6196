#!/usr/bin/env bash
# Brings a third-party kernel as PTX: downloads the pinned package from PyPI, compiles the kernel
# from its own headers. Writes only build/third_party/NAME (DRAFTPROOF_BUILD names another build
# folder). A second run changes nothing and needs no network; nothing of it is ever committed.
#
#   tools/kernels/fetch.sh flashinfer   -> build/third_party/flashinfer/chain.ptx
#
# nvcc: DRAFTPROOF_NVCC, else the one that tools/setup.sh found, else the one on PATH.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tools/kernels
build=${DRAFTPROOF_BUILD:-build}

say() { printf 'fetch: %s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 3
}

find_nvcc() {
  local nvcc=${DRAFTPROOF_NVCC:-}
  if [[ -n $nvcc ]]; then
    [[ -x $nvcc ]] || fail "DRAFTPROOF_NVCC=$nvcc is not an executable file"
  else
    [[ ! -f build/nvcc ]] || nvcc=$(cat build/nvcc)
    [[ -n $nvcc && -x $nvcc ]] || nvcc=$(command -v nvcc || true)
    [[ -n $nvcc ]] || nvcc=$(echo build/cuda/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
    [[ -x $nvcc ]] || fail "no nvcc: run tools/setup.sh, or set DRAFTPROOF_NVCC=/path/to/nvcc"
  fi
  printf '%s' "$nvcc"
}

# wheel FOLDER NAME: downloads NAME.requirements into FOLDER unless a wheel lies there.
wheel() {
  local folder=$1 name=$2 python=python3
  [[ ! -f $folder/$name.whl ]] || return 0
  command -v python3 >/dev/null || fail "no python3: run tools/setup.sh"
  if ! python3 -m pip --version >/dev/null 2>&1; then
    python3 -m venv "$folder/venv" || fail "python3 has neither pip nor venv: run tools/setup.sh"
    python=$folder/venv/bin/python3
  fi
  say "downloading $(cut -d' ' -f1 "$here/$name.requirements") from PyPI"
  rm -rf "$folder/download"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes -r "$here/$name.requirements" -d "$folder/download" \
    >"$folder/pip.log" 2>&1 || {
    tail -3 "$folder/pip.log" >&2
    fail "pip could not download $name ($folder/pip.log); check the network and rerun"
  }
  mv "$folder"/download/*.whl "$folder/$name.whl"
  rm -rf "$folder/download"
}

# extract WHEEL PREFIX FOLDER: the wheel's files below PREFIX, into FOLDER.
extract() {
  rm -rf "$3"
  python3 - "$1" "$2" "$3" <<'PYTHON'
import pathlib, sys, zipfile
wheel, prefix, folder = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        if prefix in name and not name.endswith("/"):
            path = pathlib.Path(folder, name.split(prefix, 1)[1])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
PYTHON
}

fetch_flashinfer() {
  local out=$build/third_party/flashinfer card=fixtures/kernels/flashinfer_chain.toml
  local inputs nvcc smem flags includes
  read -ra flags <<<"$(sed -n 's/^flags *= *"\(.*\)".*/\1/p' $card)"
  [[ ${#flags[@]} -gt 0 ]] || fail "$card: no flags"
  smem=$(sed -n 's/^dynamic_smem *= *\([0-9]*\).*/\1/p' $card)
  [[ -n $smem ]] || fail "$card: no dynamic_smem"
  inputs="$smem ${flags[*]} $(cat $here/fetch.sh $here/flashinfer_chain.cu $here/*.requirements | sha256sum)"
  if [[ -f $out/chain.ptx && $(cat "$out/complete" 2>/dev/null) == "$inputs" ]]; then
    return 0
  fi
  nvcc=$(find_nvcc)
  mkdir -p "$out"
  rm -f "$out/complete"
  wheel "$out" flashinfer
  extract "$out/flashinfer.whl" flashinfer/data/include/ "$out/include"
  includes=(-I "$out/include")
  if [[ ! -f $(dirname "$nvcc")/../include/curand_kernel.h ]]; then
    wheel "$out" curand
    extract "$out/curand.whl" nvidia/cu13/include/ "$out/curand"
    includes+=(-I "$out/curand")
  fi
  say "compiling the chain sampling kernel with $nvcc"
  # The header's switches for formats are those of the package; -lineinfo changes no code and lets
  # findings name source lines.
  "$nvcc" -ptx -arch=compute_80 "${flags[@]}" -lineinfo \
    -DFLASHINFER_ENABLE_F16 -DFLASHINFER_ENABLE_BF16 -DFLASHINFER_ENABLE_FP8_E4M3 \
    -DFLASHINFER_ENABLE_FP8_E5M2 -DFLASHINFER_ENABLE_FP8_E8M0 -DFLASHINFER_ENABLE_FP4_E2M1 \
    "-DDRAFTPROOF_DYNAMIC_SMEM=$smem" "${includes[@]}" \
    $here/flashinfer_chain.cu -o "$out/chain.ptx.next" >"$out/nvcc.log" 2>&1 || {
    tail -5 "$out/nvcc.log" >&2
    fail "nvcc could not compile $here/flashinfer_chain.cu ($out/nvcc.log); nvcc 13.0 is tested"
  }
  mv "$out/chain.ptx.next" "$out/chain.ptx"
  printf '%s\n' "$inputs" >"$out/complete"
  say "wrote $out/chain.ptx"
}

case ${1:-} in
  flashinfer) fetch_flashinfer ;;
  *) fail "unknown kernel '${1:-}'; known: flashinfer" ;;
esac
