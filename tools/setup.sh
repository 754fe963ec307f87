#!/usr/bin/env bash
# The one list of what Neura needs on Debian and Ubuntu. Installs what is missing, and does nothing where all is there.
#   tools/setup.sh          tools/setup.sh --list          tools/setup.sh --also PACKAGES...
set -euo pipefail

packages=(
  g++ cmake ninja-build make git python3        # to build
  python3-dev python3-venv                      # the Python package; the build works without
  ccache mold                                   # faster builds; the build works without
  libhwy-dev                                    # SIMD: the only library that the core needs
  zlib1g-dev libpng-dev libjpeg62-turbo-dev     # data sets and images
  libwebp-dev                                   # WebP pictures; the build works without
  nlohmann-json3-dev                            # files
  libopenblas0-pthread                          # linear algebra, loaded when first needed
  libcli11-dev                                  # the program neura
  libtomlplusplus-dev                           # training from TOML files; the build works without
  libcpp-httplib-dev                            # the model server; the build works without
  libgtest-dev libgmock-dev libbenchmark-dev    # tests, benchmarks
  clang-format clang-tidy black flake8          # make format, make lint
  dataset-fashion-mnist                         # make demo
)

if [ "${1:-}" = --list ]; then
  printf '%s\n' "${packages[@]}"
  exit
fi
if [ "${1:-}" = --also ]; then packages+=("${@:2}"); fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: not a Debian system. Neura needs CMake 3.22, a C++20 compiler (g++ 12 or clang 14 and later), Highway 1.0.3,"
  echo "zlib, libpng, nlohmann-json, CLI11, GoogleTest and Google Benchmark; as Debian packages: ${packages[*]}"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "setup: installing ${missing[*]}"
as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "setup: become root and run: apt-get install ${missing[*]}"; exit 1; }
  as_root=(sudo)
fi
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
# A list of packages that was never fetched, or is old, is the usual reason why an installation fails.
install 2>/dev/null || { "${as_root[@]}" apt-get update -qq && install; }
