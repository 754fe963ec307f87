#!/usr/bin/env bash
# tools/bare.sh [BUILD [TARGET...]]: programs for one model each, of a CNN and an MLP for Fashion-MNIST and of a network of
# 8-bit integers (neura deploy --small): compiles them in build/bare for this machine, or for those of the TARGETs, such as
# arm-linux-gnueabihf, of which qemu runs the programs. Says how large they are and how soon they start, and fails where one
# is larger than its limit, answers otherwise than neura run, or needs more than the C library. The networks are those of
# `make demo`, or are trained for a few steps. What cannot be had is "left out: ...", and the script then ends with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
neura=${1:-build/release}/bin/neura
targets=("${@:2}")
limit=400000  # bytes, without the model; with the C library inside there is none
out=build/bare
status=0
left_out() { echo "left out: $1"; status=77; }
[ -x "$neura" ] || { left_out "programs for one model: the program neura is not built"; exit 77; }
data=${NEURA_FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
mkdir -p $out

models=(int8)
if [ -e "$data/t10k-images-idx3-ubyte.gz" ] || [ -e "$data/t10k-images-idx3-ubyte" ]; then models=(cnn mlp int8)
else left_out "programs of a CNN and an MLP: no Fashion-MNIST in $data"; fi
for model in "${models[@]}"; do
  python3 tools/bare.py sample $out/$model.npy
  if [ $model = int8 ]; then python3 tools/bare.py int8 $out/$model.neura; continue; fi
  run=$out/run-$model
  [ $model != cnn ] || [ ! -e build/demo/demo/best.safetensors ] || run=build/demo/demo
  [ -e "$run/best.safetensors" ] || { rm -rf "$run"; "$neura" train fashion-mnist "$data" --model $model --quick --out "$run"; }
  "$neura" export "$run" --output $out/$model.neura
done

# A cross compiler of Debian's and qemu, or for a C library that Debian has no C++ for, the compiler of zig.
has_tools() {  # of a target
  local machine=${1%%-*} package
  case $1 in
    *-musl*)
      command -v zig >/dev/null || command -v python-zig >/dev/null ||
        { python3 -m venv build/zig && build/zig/bin/pip install -q ziglang==0.17.0 && PATH=$PWD/build/zig/bin:$PATH; } ||
        { left_out "programs for $1: no package index offers ziglang"; return 1; } ;;
    *)
      package=g++-${1//_/-}
      command -v "$1-g++" >/dev/null || timeout 600 tools/setup.sh --also "$package" || true
      command -v "$1-g++" >/dev/null || { left_out "programs for $1: no package index offers $package"; return 1; } ;;
  esac
  [ "$machine" = "$(uname -m)" ] || command -v "qemu-$machine" >/dev/null || timeout 600 tools/setup.sh --also qemu-user || true
  [ "$machine" = "$(uname -m)" ] || command -v "qemu-$machine" >/dev/null ||
    { left_out "programs for $1: no package index offers qemu-user"; return 1; }
}

program() {  # program MODEL [TARGET]: makes it, and looks at its size, its libraries and its answers
  local model=$1 target=${2:-} app=$out/$1${2:+-$2} start=$SECONDS said size foreign answers by=() trust=()
  [ "$model" != int8 ] || trust=(--trust)
  [ -z "$target" ] || [ "${target%%-*}" = "$(uname -m)" ] || by=("qemu-${target%%-*}" -L "/usr/$target")
  said=$("$neura" deploy $out/$model.neura -o $app --executable --small --source . --build $out/$model.build \
    "${trust[@]}" ${target:+--target $target})
  echo "$said, in $((SECONDS - start)) s"
  size=$(sed -n 's/.* bytes: \([0-9,]*\) of the program,.*/\1/p' <<<"$said" | tr -d ,)
  [[ $target == *-musl* ]] || [ "$size" -le $limit ] ||
    { echo "$app: expected a program of at most $limit bytes, got $size"; return 1; }
  foreign=$(readelf -d $app | grep NEEDED | grep -vE '\[(libc|libm|ld-linux[-a-z0-9]*)\.so' || true)
  [ -z "$foreign" ] || { echo "$app: expected a program that needs the C library alone, got $foreign"; return 1; }
  if grep -q "warning: " $out/$model.build/${target:+$target/}build.log; then
    echo "$app: expected no warnings of the compiler, got some in $out/$model.build/${target:+$target/}build.log"
    return 1
  fi
  rm -rf $out/got $out/want && mkdir -p $out/got $out/want
  "${by[@]}" ./$app $out/$model.npy -o $out/got >/dev/null
  NEURA_CPU=avx2 "$neura" run $out/$model.neura --input $out/$model.npy --output $out/want "${trust[@]}" >/dev/null
  for answers in $out/want/*.npy; do python3 tools/bare.py same "$answers" "$out/got/${answers##*/}" ${target:+--near}; done
  [ ${#by[@]} -gt 0 ] || python3 tools/bare.py start $app $out/$model.npy
}

for target in "${targets[@]-}"; do
  [ -z "$target" ] || has_tools "$target" || continue
  for model in "${models[@]}"; do program $model $target; done
done
exit $status
