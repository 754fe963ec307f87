#!/usr/bin/env bash
# tools/demo.sh BUILD [--quick]: trains a CNN on Fashion-MNIST with the program neura, saves it, and lets further processes load it,
# test it and say what some pictures show. What it makes lies in BUILD/demo. --quick: one epoch of the smaller network.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: tools/demo.sh BUILD [--quick]}
settings=(--model cnn)
[ "${2:-}" != --quick ] || settings=(--model mlp --epochs 1)
work=$build/demo
mkdir -p "$work"

run() {
  printf '\n$ neura %s\n' "$*"
  "$build/bin/neura" "$@"
}
run info
run train fashion-mnist "${settings[@]}" --save "$work/model.safetensors" --report "$work/report.html"
run eval "$work/model.safetensors"
for picture in 0 1 2; do run predict "$picture" --model "$work/model.safetensors"; done
printf '\nthe network: %s\nthe report, for a browser: %s\n' "$work/model.safetensors" "$work/report.html"
