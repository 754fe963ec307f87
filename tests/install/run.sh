#!/usr/bin/env bash
# run.sh BUILD CXX: installs a build, moves the installation elsewhere, and builds and runs a project that finds it there.
set -euo pipefail
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/installed"
linkages=(OFF)
grep -q 'NEURA_STATIC_TOO:BOOL=ON' "$build/CMakeCache.txt" && linkages+=(ON)
for static in "${linkages[@]}"; do
  cmake -S "$here" -B "$work/build-$static" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$2" \
    -DCMAKE_PREFIX_PATH="$work/installed" -DSTATIC="$static" >"$work/log" || { cat "$work/log"; exit 1; }
  cmake --build "$work/build-$static" >"$work/log" || { cat "$work/log"; exit 1; }
  for program in "$work/build-$static"/only_* "$work/build-$static/consumer"; do
    echo "$(basename "$program"), static libraries $static"
    "$program"
  done
  if [ "$static" = ON ] && ldd "$work/build-ON/consumer" | grep -q libneura; then
    echo "the static consumer still loads a shared libneura"
    exit 1
  fi
done
if [ -x "$work/installed/bin/neura" ]; then "$work/installed/bin/neura" --version; fi
