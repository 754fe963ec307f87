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
  for program in "$work/build-$static"/only_* "$work/build-$static"/{consumer,use_extension}; do
    echo "$(basename "$program"), static libraries $static"
    "$program"
  done
  if [ "$static" = ON ] && ldd "$work/build-ON/consumer" | grep -q libneura; then
    echo "the static consumer still loads a shared libneura"
    exit 1
  fi
done
neura=$work/installed/bin/neura
[ -x "$neura" ] || exit 0
"$neura" --version

# What neura deploy writes is built with the installation, and a program of it needs none.
[ -x "$work/installed/bin/neura-runner" ] || exit 0
model=$here/../fuzz/program/mlp.neura
"$neura" deploy "$model" -o "$work/app"
package=$(find "$work/installed" -name neura_c.pc)
[ -n "$package" ] || exit 0
"$neura" deploy "$model" --c -o "$work/mlp"
for static in "${linkages[@]}"; do
  cmake -S "$work/mlp" -B "$work/mlp-$static" -G Ninja -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$2" \
    -DSTATIC="$static" >"$work/log" && cmake --build "$work/mlp-$static" >"$work/log" || { cat "$work/log"; exit 1; }
  echo "the model as C sources, static libraries $static"
  "$work/mlp-$static/example"
done
if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$package") make -s -C "$work/mlp"
  "$work/mlp/example"
fi
mv "$work/installed" "$work/gone"
"$work/app" --info
