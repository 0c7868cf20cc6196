#!/usr/bin/env bash
# Installs what a build needs and this machine lacks: Debian packages by name (as root or with sudo;
# otherwise prints the one line to run), and nvcc from five pinned PyPI wheels into build/cuda when
# PATH has no nvcc of a tested version. Writes only build/. A second run checks and changes nothing.
#
#   DRAFTPROOF_CUDA=OFF tools/setup.sh   leaves nvcc out: PTX is then loaded from files
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  ca-certificates g++ cmake ninja-build python3 python3-venv
  libgtest-dev libgmock-dev librapidcheck-dev libcli11-dev libtomlplusplus-dev
  nlohmann-json3-dev libfmt-dev librandom123-dev libboost-dev libpugixml-dev
  libcpp-httplib-dev libeigen3-dev libmpfr-dev libgmp-dev libbenchmark-dev python3-jsonschema
  libsqlite3-dev
)
# nvcc's own dependencies carry no versions: pinning nvcc alone brings an nvvm whose PTX its ptxas
# rejects, so all five are pinned together.
wheels=(
  nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88
  nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
)
tested_nvcc='release 13\.0,'

say() { printf 'setup: %s\n' "$*" >&2; }

missing_packages() {
  local have name
  have=" $(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' 2>/dev/null |
    awk '$2 == "installed" { sub(/:.*/, "", $1); print $1 }' | tr '\n' ' ') "
  for name in "${packages[@]}"; do
    [[ $have == *" $name "* ]] || printf '%s ' "$name"
  done
}

install_packages() {
  local missing sudo=()
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian machine; make sure that these are installed: ${packages[*]}"
    return
  fi
  missing=$(missing_packages)
  [[ -n $missing ]] || return 0
  if [[ $(id -u) != 0 ]]; then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      say "packages are missing and this user cannot install them. As root, run:"
      say "  apt-get install -y --no-install-recommends $missing"
      exit 3
    fi
    sudo=(sudo)
  fi
  say "installing: $missing"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086  # a list of names
  if ! "${sudo[@]}" apt-get install -y -qq --no-install-recommends $missing >build/apt.log 2>&1; then
    "${sudo[@]}" apt-get update -qq >>build/apt.log 2>&1 || true
    "${sudo[@]}" apt-get install -y -qq --no-install-recommends $missing >>build/apt.log 2>&1 || {
      tail -5 build/apt.log >&2
      say "apt-get could not install: $missing (build/apt.log); mend the package sources and rerun"
      exit 3
    }
  fi
}

# Prints the nvcc to use, or nothing.
nvcc_on_path() {
  local nvcc
  nvcc=$(command -v nvcc || true)
  [[ -n $nvcc ]] || return 0
  if "$nvcc" --version 2>/dev/null | grep -q "$tested_nvcc"; then
    printf '%s' "$nvcc"
  else
    say "nvcc on PATH is not of a tested version (13.0); taking the pinned wheels instead"
  fi
}

nvcc_from_wheels() {
  local home=build/cuda nvcc
  nvcc=$(echo "$PWD"/$home/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
  if [[ ! -x $nvcc || ! -f $home/complete ]]; then
    say "installing nvcc 13.0 from PyPI into $home (104 MB to download, 271 MB on disk)"
    rm -rf $home
    python3 -m venv $home
    if ! $home/bin/pip install --quiet --disable-pip-version-check "${wheels[@]}" >build/pip.log 2>&1; then
      tail -5 build/pip.log >&2
      say "pip could not install the CUDA wheels (build/pip.log). Put nvcc 13.0 on PATH, or set"
      say "DRAFTPROOF_CUDA=OFF to build without own kernels"
      exit 3
    fi
    nvcc=$(echo "$PWD"/$home/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
    touch $home/complete
  fi
  printf '%s' "$nvcc"
}

mkdir -p build
install_packages
nvcc=""
if [[ ${DRAFTPROOF_CUDA:-AUTO} != OFF ]]; then
  nvcc=$(nvcc_on_path)
  [[ -n $nvcc ]] || nvcc=$(nvcc_from_wheels)
fi
printf '%s\n' "$nvcc" >build/nvcc.next
cmp -s build/nvcc.next build/nvcc || cp build/nvcc.next build/nvcc
rm -f build/nvcc.next
