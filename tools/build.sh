#!/usr/bin/env bash
# tools/build.sh PRESET [targets...]: installs what is missing, configures the preset of CMakePresets.json, builds it.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: tools/build.sh PRESET [targets...]}
shift
tools/setup.sh
[[ $preset =~ ^(quick|demo)$ ]] || tools/python.sh || [ $? = 77 ]  # these need no Python
cmake --preset "$preset"
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
cmake --build "build/$preset" -j "${JOBS:-$(nproc)}" "${targets[@]}"
