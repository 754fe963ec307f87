#!/usr/bin/env bash
# tools/demo.sh BUILD [--quick]: trains a CNN on Fashion-MNIST with the program neura, and lets further processes load the run,
# test it and say what some pictures show. What it makes lies in BUILD/demo. --quick: one epoch of the smaller network.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: tools/demo.sh BUILD [--quick]}
settings=(--model cnn)
[ "${2:-}" != --quick ] || settings=(--model mlp --epochs 1)
work=$build/demo
rm -rf "$work"

run() {
  printf '\n$ neura %s\n' "$*"
  "$build/bin/neura" "$@"
}
run info
run train fashion-mnist "${settings[@]}" --out "$work"
run eval "$work"
for picture in 0 1 2; do run predict "$work" "$picture"; done
printf '\nthe network: %s/best.safetensors\nthe report, for a browser: %s/report.html\n' "$work" "$work"
