#!/usr/bin/env bash
# The package for browsers and node, build/web/package, and the page that knows clothes, build/web/page: builds both by
# Emscripten, says how large they are, and tests them in node and, where there is Chromium, in a browser without a window
# (build/web/page.png). The page's network is that of `make demo`, or one that is trained for an epoch. What cannot be had
# is "left out: ...", and ends with 77. tools/web.sh --no-page: the package alone.
set -euo pipefail
cd "$(dirname "$0")/.."
out=0
left_out() { echo "left out: $1"; out=77; }

command -v em++ >/dev/null && command -v node >/dev/null || timeout 600 tools/setup.sh --also emscripten || true
command -v em++ >/dev/null && command -v node >/dev/null || { left_out "the package for browsers: no package index offers emscripten and node"; exit 77; }

mkdir -p build
cmake --preset web >build/web-configure.log || { cat build/web-configure.log; exit 1; }
cmake --build build/web -j "${JOBS:-$(nproc)}" --target neura_web neura_web_small
package=build/web/package
rm -rf $package
mkdir -p $package
cp wasm/package/*.js wasm/package/*.d.ts wasm/package/README.md LICENSE* THIRD_PARTY.md $package/
version=$(sed -n 's/^project(neura VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
sed "s/@PROJECT_VERSION@/$version/" wasm/package/package.json.in >$package/package.json
cp build/web/bin/neura.wasm build/web/bin/neura-small.wasm $package/

# Limits of what a page loads, compressed as servers send it.
sizes() {  # sizes "what" limit files...: bytes as they are, and by gzip
  local raw=0 packed=0 file
  for file in "${@:3}"; do
    raw=$((raw + $(stat -c %s "$file")))
    packed=$((packed + $(gzip -9 <"$file" | wc -c)))
  done
  printf '%-34s %9d bytes, %8d by gzip (at most %d)\n' "$1" $raw $packed "$2"
  [ $packed -le "$2" ]
}
sizes "usual networks, with JavaScript" 400000 $package/neura-small.wasm $package/index.js
sizes "all operators, with JavaScript" 900000 $package/neura.wasm $package/index.js
foreign=$(grep -aciE 'nvrtcCompile|cublas|cudnnCreate|libcuda' $package/neura.wasm) || true
[ "$foreign" = 0 ]

NEURA_PACKAGE=$package node --test wasm/test/package.test.mjs
node wasm/test/pages.mjs $package docs/web.md wasm/package/README.md
native() { PYTHONPATH=$1/site build/python/bin/python wasm/test/models.py wasm/test/data --check; }
for build in build/release build/dev; do [ -d $build/site/neura ] && break; done
if [ -x build/python/bin/python ] && [ -d $build/site/neura ]; then native $build; else left_out "native answers beside the stored ones: the Python package is not built"; fi
[ "${1:-}" != --no-page ] || exit $out

# The page: package, model, and some pictures of the test set.
page=build/web/page
data=${NEURA_FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
for program in build/release/bin/neura build/dev/bin/neura build/quick/bin/neura; do [ -x $program ] && break; done
[ -x $program ] || { left_out "the page: no program neura is built that would export its network"; exit 77; }
[ -e "$data/t10k-images-idx3-ubyte.gz" ] || [ -e "$data/t10k-images-idx3-ubyte" ] || { left_out "the page: no Fashion-MNIST in $data"; exit 77; }
rm -rf $page
mkdir -p $page/neura
cp wasm/page/* $page/
cp $package/*.js $package/*.wasm $page/neura/
run=${NEURA_RUN:-}
for folder in build/demo/demo build/release/demo build/web/run; do
  [ -n "$run" ] || [ ! -e $folder/best.safetensors ] || run=$folder
done
[ -n "$run" ] || { run=build/web/run && $program train fashion-mnist "$data" --model cnn --epochs 1 --out $run; }
$program export "$run" --output $page/model.neura
python3 wasm/test/samples.py "$data" $page build/web/labels.json 12
echo "the page: $page/index.html, to be served; $(du -sh $page | cut -f1)"

command -v chromium >/dev/null && command -v chromedriver >/dev/null || timeout 600 tools/setup.sh --also chromium chromium-driver || true
command -v chromium >/dev/null && command -v chromedriver >/dev/null || { left_out "the page in a browser: no package index offers chromium and chromium-driver"; exit 77; }
python3 wasm/test/browser.py $page build/web/labels.json build/web/page.png
exit $out
