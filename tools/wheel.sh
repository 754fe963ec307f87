#!/usr/bin/env bash
# tools/wheel.sh [OUT]: builds the wheel as pip does, installs it into a new environment, and looks at it there: what it carries,
# what it needs, what importing it loads, and whether the README's Python program and the examples run.
# tools/wheel.sh --all [PYTHON...]: that for each of these Pythons, or each from 3.9 to 3.13 that is found. The wheels lie in
# build/dist, with the tag of the oldest Linux that they run on, and a table tells of them.
# tools/wheel.sh --cuda [ARCHITECTURES]: the wheel neura-cuda13, also into build/dist, for the architectures of
# python/cuda/pyproject.toml or these ("100", "90-real;120"); tried beside the oldest and the newest Python's wheel there.
set -euo pipefail
cd "$(dirname "$0")/.."
export SKBUILD_CMAKE_DEFINE=NEURA_WERROR=ON CXX=${CXX:-c++}  # as in the build tree, so that ccache knows what it compiled there
quiet=(-q --disable-pip-version-check)

wheel() {  # wheel PYTHON OUT [what else pip is told]
  local python=$1 out=$2
  shift 2
  rm -rf "$out"
  mkdir -p "$out"
  PATH="$(dirname "$python"):$PATH" "$python" -m pip wheel "${quiet[@]}" --no-deps --no-build-isolation "$@" -w "$out" .
  "$python" -m venv "$out/environment"
  "$out/environment/bin/pip" install "${quiet[@]}" --no-index --no-deps "$out"/*.whl
  "$python" tools/check_wheel.py "$out"/*.whl "$out/environment/bin/python"
}

find_python() {  # the newest 3.MINOR of PATH or pyenv that starts
  local python
  for python in "$(command -v "python$1")" $(ls -dv ~/.pyenv/versions/"$1".*/bin/python 2>/dev/null | tac); do
    "$python" -c '' 2>/dev/null && echo "$python" && return
  done
}

builder() {  # builder PYTHON HOME: an environment with what builds wheels
  [ -x "$2/bin/pip" ] || "$1" -m venv "$2"
  "$2/bin/pip" install "${quiet[@]}" nanobind scikit-build-core numpy auditwheel wheel
}

tagged() {  # gives a wheel its manylinux tag: the newest symbol of libc that it needs decides
  local platform
  platform=$("$1/bin/auditwheel" show "$2" | grep -o 'manylinux_[0-9]*_[0-9]*_[a-z0-9_]*' | head -1)
  [ -n "$platform" ] || { echo "auditwheel: $2 fits no manylinux policy"; "$1/bin/auditwheel" show "$2"; return 1; }
  cp "$2" build/dist
  "$1/bin/wheel" tags --remove --platform-tag "$platform" "build/dist/$(basename "$2")"
}

cuda() {
  local home=$PWD/build/wheels/cuda start=$SECONDS architectures=() built each minor python
  builder "$(find_python 3.12 || command -v python3)" "$home"
  [ $# -eq 0 ] || architectures=(--config-settings "cmake.define.CMAKE_CUDA_ARCHITECTURES=$1")
  rm -rf "$home/dist" build/dist/neura_cuda13-*
  mkdir -p build/dist
  PATH="$home/bin:$PATH" "$home/bin/pip" wheel "${quiet[@]}" --no-deps --no-build-isolation "${architectures[@]}" -w "$home/dist" python/cuda
  tagged "$home" "$home"/dist/*.whl
  built=$(ls build/dist/neura_cuda13-*.whl)
  echo "built in $((SECONDS - start)) s"
  for each in $(ls -v build/dist/neura-*.whl | sed -n '1p;$p' | uniq); do
    minor=$(grep -oP -m1 '(?<=-cp3)\d+(?=-cp)' <<<"$each")
    python=$(find_python "3.$minor")
    "$python" -m venv --clear "$home/environment"
    "$python" tools/check_cuda_wheel.py "$built" "$each" "$home/environment/bin/python"
  done
}

case "${1:-}" in
  --all) shift ;;
  --cuda)
    cuda "${@:2}"
    exit
    ;;
  *)
    python=$PWD/build/python/bin/python
    [ -x "$python" ] || { echo "wheel: no build/python; run tools/python.sh first"; exit 1; }
    wheel "$python" "$(realpath -m "${1:-build/dist}")"
    exit
    ;;
esac

pythons=("$@")
[ $# -gt 0 ] || for minor in 9 10 11 12 13; do
  python=$(find_python 3.$minor || true)
  if [ -n "$python" ]; then pythons+=("$python"); else echo "left out: the wheel of Python 3.$minor, which is not here"; fi
done
mkdir -p build/dist build/wheels
table=()
for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  home=$PWD/build/wheels/$version start=$SECONDS
  rm -f build/dist/neura-*-"cp${version/./}"-*
  builder "$python" "$home"
  wheel "$home/bin/python" "$home/dist" --config-settings "build-dir=build/wheel-$version" | tee "$home/log"
  tagged "$home" "$home"/dist/*.whl
  table+=("$(printf '%-8s %5s s %8s MB %8s ms  %s' "$version" $((SECONDS - start)) "$(grep -oP '[\d.]+(?= MB)' "$home/log")" \
    "$(grep -oP '(?<=import neura takes )[\d.]+' "$home/log")" "$(basename "$(ls build/dist/neura-*-"cp${version/./}"-*)")")")
done
printf '\n%-8s %7s %11s %11s  %s\n' Python build size import wheel
printf '%s\n' "${table[@]}"
