#!/usr/bin/env bash
# tools/bare.sh [BUILD]: programs for one model each, of a CNN and an MLP for Fashion-MNIST (neura deploy --small): compiles
# them in build/bare, says how large they are and how soon they start, and fails where one is larger than its limit, answers
# otherwise than neura run, or needs more than the C library. The networks are those of `make demo`, or are trained for a
# few steps. What cannot be had is "left out: ...", and ends with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
neura=${1:-build/release}/bin/neura
limit=400000  # bytes, without the model
left_out() { echo "left out: $1"; exit 77; }
[ -x "$neura" ] || left_out "programs for one model: the program neura is not built"
data=${NEURA_FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
[ -e "$data/t10k-images-idx3-ubyte.gz" ] || [ -e "$data/t10k-images-idx3-ubyte" ] ||
  left_out "programs for one model: no Fashion-MNIST in $data"

out=build/bare
mkdir -p $out
for model in cnn mlp; do
  run=$out/run-$model
  [ $model != cnn ] || [ ! -e build/demo/demo/best.safetensors ] || run=build/demo/demo
  [ -e "$run/best.safetensors" ] || { rm -rf "$run"; "$neura" train fashion-mnist "$data" --model $model --quick --out "$run"; }
  "$neura" export "$run" --output $out/$model.neura
  start=$SECONDS
  said=$("$neura" deploy $out/$model.neura -o $out/$model --executable --small --source . --build $out/$model.build)
  echo "$said, in $((SECONDS - start)) s"
  size=$(sed -n 's/.* bytes: \([0-9,]*\) of the program,.*/\1/p' <<<"$said" | tr -d ,)
  [ "$size" -le $limit ] || { echo "$model: expected a program of at most $limit bytes, got $size"; exit 1; }

  python3 tools/bare.py sample $out/$model.npy
  ./$out/$model $out/$model.npy -o $out/$model-small.npy >/dev/null
  NEURA_CPU=avx2 "$neura" run $out/$model.neura --input $out/$model.npy --output $out/$model-all.npy >/dev/null
  cmp $out/$model-small.npy $out/$model-all.npy
  foreign=$(ldd $out/$model | grep -vE 'linux-vdso|libc\.so|libm\.so|ld-linux' || true)
  [ -z "$foreign" ] || { echo "$model: expected a program that needs the C library alone, got $foreign"; exit 1; }
  python3 tools/bare.py start $out/$model $out/$model.npy
done
