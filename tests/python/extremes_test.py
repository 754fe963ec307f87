"""Integers at their extremes, in the place of each integer that a public function takes: a typed error, or a result.

    extremes_test.py [PART]    calls the functions whose name contains PART, in this process

Functions and samples are those of tools/dtypes_page.py, which knows one of every line of docs/functions.md: a new
function is tried by itself. No call may end the process, take long, ask for memory without bound, or raise what is not
an error of Neura's.
"""

import faulthandler
import importlib.util
import pathlib
import re
import resource
import subprocess
import sys
import time
import warnings

import neura
from neura import errors

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTREMES = [-(2**63), -(2**31) - 1, -1, 0, 1, 2**31, 2**62, 2**63 - 1]
MEMORY = 1 << 30  # bytes of address space beyond what the process has at the start
PATIENCE = 60  # seconds for one function, under a sanitizer on a busy machine
SLOW = 2.0  # seconds for one call
SAMPLES = 2  # of a function
# Their integers are no sizes: seeds and numbers of threads are kept, files and devices are elsewhere.
# One of griffinlim's is the number of its iterations: who asks for 2**62 of them waits.
NOT_CALLED = {"manual_seed", "set_num_threads", "set_num_interop_threads", "cuda", "griffinlim"}
OTHERS = set("input self other out dtype device layout pin_memory requires_grad memory_format generator".split())


def load_page():
    spec = importlib.util.spec_from_file_location("dtypes_page", ROOT / "tools" / "dtypes_page.py")
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    return page


def places(value, path=()):
    """Paths of whatever is no tensor in nested arguments: integers, and what integers may be given for."""
    if isinstance(value, neura.Tensor) or len(path) > 4:
        return
    if len(path) > 1:
        yield path
    if type(value) in (list, tuple):
        for i, x in enumerate(value[:4] if len(path) > 1 else value):
            yield from places(x, (*path, i))
    elif type(value) is dict:
        for key, x in value.items():
            yield from places(x, (*path, key))


def put(value, path, new):
    if not path:
        return new
    if type(value) is dict:
        return {k: put(x, path[1:], new) if k == path[0] else x for k, x in value.items()}
    return type(value)(put(x, path[1:], new) if i == path[0] else x for i, x in enumerate(value))


def everywhere(value, new):
    """All integers replaced."""
    if type(value) in (list, tuple):
        return type(value)(everywhere(x, new) for x in value)
    if type(value) is dict:
        return {key: everywhere(x, new) for key, x in value.items()}
    return new if type(value) is int else value


def parameters():
    """The names of each function's parameters, of docs/functions.md."""
    found = {}
    for line in (ROOT / "docs" / "functions.md").read_text().splitlines():
        for name, given in re.findall(r"`(\w+)\(([^`]*)\)`", line.split(" | ")[0]):
            words = re.findall(r"(?:^|, )(\w+)(?==|,|$)", given.replace("*, ", "").replace("/, ", ""))
            found.setdefault(name, []).extend(w for w in words if w not in found.get(name, []) and w not in OTHERS)
    return found


class Trial:
    def __init__(self):
        self.calls = self.returned = 0
        self.bad = []

    def call(self, f, args, kwargs, shown):
        begin = time.perf_counter()
        self.calls += 1
        try:
            f(*args, **kwargs)
            self.returned += 1
        except (errors.Error, TypeError, OverflowError) as error:
            if type(error) is TypeError and "incompatible" in str(error):
                self.bad.append(f"{shown}: {error}"[:200])
        except Exception as error:
            self.bad.append(f"{shown}: {type(error).__name__}: {error}"[:200])
        if time.perf_counter() - begin > SLOW:
            self.bad.append(f"{shown}: took {time.perf_counter() - begin:.1f} s")

    def function(self, name, samples, words):
        for sample in samples[:SAMPLES]:
            try:
                _, args, kwargs = sample()
            except Exception:
                continue
            for path in places([args, kwargs]):
                for extreme in EXTREMES:
                    f, args, kwargs = sample()
                    args, kwargs = put([args, kwargs], path, extreme)
                    self.call(f, args, kwargs, f"{name} {path} {extreme}")
            for extreme in EXTREMES:
                f, args, kwargs = sample()
                self.call(f, everywhere(args, extreme), everywhere(kwargs, extreme), f"{name} everywhere {extreme}")
                for word in words:
                    f, args, kwargs = sample()
                    self.call(f, args, {**kwargs, word: extreme}, f"{name} {word}={extreme}")


def main(part=""):
    faulthandler.enable()
    warnings.simplefilter("ignore")
    page, trial, words = load_page(), Trial(), parameters()
    run = page.stored()
    soft = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (soft, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for where, name, method in page.functions():
        if part in name and name not in NOT_CALLED:
            print(f"{where}.{name}", flush=True)
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            samples = page.Function(neura, run, where, name, method).samples
            trial.function(f"{where}.{name}", samples, words.get(name, []))
    faulthandler.cancel_dump_traceback_later()
    for line in trial.bad:
        print("BAD", line)
    print(f"{trial.calls} calls, {trial.returned} returned", flush=True)


def test_integers_at_their_extremes_are_refused_or_answered():
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-300:]} ended the process\n{done.stderr[-2000:]}"
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("BAD")] == []
    assert int(lines[-1].split()[0]) > 5000


if __name__ == "__main__":
    main(*sys.argv[1:])
