#!/usr/bin/env bash
# Builds the library and tests for 64-bit ARM by a cross compiler and runs them under emulation, on Debian: tools/arm.sh.
# What the compiler needs for that machine goes into build/arm64-root; the packages of this one stay its own. Where no
# package index has the tools, it says so and ends with 77. GTEST_FILTER chooses other tests than the selection.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/arm64-root index=$PWD/build/arm64-apt
libraries=(libhwy-dev libhwy1 libgtest-dev zlib1g-dev zlib1g libpng-dev libpng16-16 nlohmann-json3-dev)
left_out() { echo "left out: $1"; exit 77; }

tools_here() { command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null; }
tools_here || timeout 600 tools/setup.sh --also g++-aarch64-linux-gnu qemu-user || true
tools_here || left_out "no package index offers g++-aarch64-linux-gnu and qemu-user"

# apt with an index and a cache of its own, for the other architecture; it needs no rights and installs nothing.
foreign_apt() {
  mkdir -p "$index"/state/lists/partial "$index"/cache/archives/partial
  : >"$index/state/status"
  cat >"$index/apt.conf" <<CONF
APT::Architecture "arm64";
#clear APT::Architectures;
APT::Architectures { "arm64"; };
Dir::State "$index/state";
Dir::State::status "$index/state/status";
Dir::Cache "$index/cache";
Acquire::Languages "none";
Acquire::http::Timeout "30";
APT::Sandbox::User "";
CONF
  APT_CONFIG=$index/apt.conf timeout 300 apt-get -qq "$@"
}
fetch_libraries() {
  foreign_apt update || true  # one index of several may be missing
  rm -rf "$index/new" && mkdir -p "$index/new"
  (cd "$index/new" && foreign_apt download "${libraries[@]}") || return 1
  rm -rf "$root" && mkdir -p "$root"
  local package
  for package in "$index"/new/*.deb; do dpkg-deb -x "$package" "$root"; done
  # The one link that names its file from the root of a system.
  ln -sf ../../../lib/aarch64-linux-gnu/libz.so.1 "$root/usr/lib/aarch64-linux-gnu/libz.so"
  printf '%s\n' "${libraries[@]}" >"$root/packages"
}
[ "$(cat "$root/packages" 2>/dev/null)" = "$(printf '%s\n' "${libraries[@]}")" ] || fetch_libraries ||
  left_out "no package index offers for arm64: ${libraries[*]}"

mkdir -p build
cmake --preset arm64 >build/arm64-configure.log || { cat build/arm64-configure.log; exit 1; }
floors=(core backend ops autograd)
cmake --build build/arm64 -j "${JOBS:-$(nproc)}" --target neura neura_nn neura_optim neura_data neura_io train_circle example_edge_inference_example_rpi "${floors[@]/#/test_}"
# QEMU 7 ends by an assertion of its own when a process of several threads forks.
export GTEST_FILTER=${GTEST_FILTER:-*:-Parallel.AForkedChild*}
tools/test.sh build/arm64 -R "^(train_circle|example_edge_inference_example_rpi|$(IFS='|'; echo "${floors[*]}"))$"
