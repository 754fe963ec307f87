# A thin face: every target calls a script of tools/ or a CMake preset. `make` lists them.
SHELL := bash

.PHONY: help build quick dev demo test bench wheel wheels wheel-cuda docs site format format-check lint checks asan tsan odr arm wasm web coverage install clean
help:  ## lists these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

build:  ## installs what is missing and builds everything, Release, into build/release
	tools/build.sh release
demo:  ## builds the program neura alone, in build/demo, trains a CNN on Fashion-MNIST with it, saves, reloads, predicts
	tools/build.sh demo
	tools/demo.sh build/demo
test: build  ## builds and runs every test
	tools/test.sh build/release
quick:  ## builds tensors, networks, files and the contract tests, with one instruction set, in build/quick
	tools/build.sh quick neura neura_nn neura_optim neura_data neura_io test_contract
	@echo "build/quick/bin/tests/contract runs them; cmake --build build/quick --target test_ops builds those of neura/ops, and so on"
dev:  ## builds and tests with -O2 and lines in stack traces, in build/dev
	tools/build.sh dev && tools/test.sh build/dev
bench: build  ## runs the C++ benchmarks; BENCH='--benchmark_filter=add' passes arguments
	build/release/bin/neura_bench $(BENCH)
docs: build  ## writes the pages of docs/ that come from the tables
	tools/docs.sh build/release
site: build  ## builds the documentation site in build/site, and checks its links and its search
	tools/site.sh build/release
format:  ## formats every C++ and Python file
	tools/format.sh
format-check:
	tools/format.sh --check
lint:  ## clang-tidy and flake8 over what changed; LINT=--all for everything
	tools/lint.sh $(LINT)
checks: format-check  ## what CI refuses and takes seconds to see: formatting, floors, names, lengths, links, CUDA's statuses
	tools/check_floors.py && tools/check_names.py && tools/check_lengths.py && tools/check_links.py && tools/check_cuda_calls.py
asan:  ## tests under the address and undefined-behaviour sanitizers
	tools/build.sh asan && tools/test.sh build/asan -L unit
tsan:  ## the threaded tests under the thread sanitizer
	tools/tsan.sh
odr:  ## links the libraries and the program as one, which finds two types of one name
	tools/build.sh odr
arm:  ## builds for 64-bit ARM and runs tests under emulation
	tools/arm.sh
wasm:  ## builds for WebAssembly and runs tests in node
	tools/wasm.sh
web:  ## builds the package for browsers and node, and its page, in build/web, and tests them
	tools/web.sh
coverage:  ## which lines and which errors the C++ tests execute
	tools/coverage.sh
wheel:  ## the Python package as a wheel, in build/dist, tried in an environment of its own
	tools/python.sh && tools/wheel.sh
wheels:  ## a wheel for each Python from 3.9 to 3.13 that is here, and a table of them
	tools/wheel.sh --all
wheel-cuda:  ## the wheel neura-cuda13 beside them
	tools/wheel.sh --cuda
install: build  ## installs into PREFIX (default /usr/local)
	cmake --install build/release --prefix $(or $(PREFIX),/usr/local)
clean:  ## removes build/
	rm -rf build
