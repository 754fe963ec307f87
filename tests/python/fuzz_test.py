"""Wrong calls of everything end as exceptions: no dead process, no hang, no memory without bound.

    fuzz_test.py SEED CALLS    runs that many calls in this process and says how many returned
    NEURA_FUZZ_CALLS=1000000   the test makes that many instead, with a fresh seed for every process

Every public function is called, every public class made, and every method of such an object called, its members set and
deleted, it is called, indexed and iterated: what there is, it finds by itself. Of what comes out, gradients are asked
for. An exception is one of Neura's or of Python, and says something: none of C++ or of the binding comes through.
"""

import collections
import faulthandler
import gc
import itertools
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import warnings

import fuzz_values
import neura
from fuzz_values import HUGE, RIGHT, argument, example, parameters_of, tensor

CALLS = int(os.environ.get("NEURA_FUZZ_CALLS", 6000))
CALLS_OF_A_PROCESS = 25_000
MEMORY = 2 << 30  # bytes of address space beyond what the process has at the start
PATIENCE = 120  # seconds for a hundred calls
THREADS = neura.get_num_threads()
MODES = 1 | 4 | 8 | 32  # recording, inference, anomalies
KEYWORDS = (
    "dim keepdim out dtype input other p reduction size weight bias stride padding index device requires_grad mask src "
    "value n k groups eps lr copy mode normalized_shape indices memory_format strict recurse prefix"
).split()
# Beyond what every object has: what may do something of its own. A `with` block is entered and left in turn.
SPECIAL = "call getitem setitem delitem contains iter next len add radd iadd pow matmul eq lt bool int float index hash"
SPECIAL += " repr str format dir init setstate getstate reduce reduce_ex copy deepcopy array dlpack dlpack_device"
SPECIAL = [f"__{name}__" for name in (SPECIAL + " getattr getattribute setattr delattr enter del").split()]
NOT_CALLED = {"__del__"}
FOREIGN = ("std::", "nanobind", "vector::", "basic_string", "a bug of Neura")  # words of exceptions that are not ours
# The other half may never come.
HOOKS = {"_push_saved_hooks", "_pop_saved_hooks", "_count_overriding", "_count_modes", "_switch_overrides_off"}


def public():
    """Public functions and classes by name, and what the extension module has for itself."""
    stubs, found = fuzz_values.load_stubs(), {}
    for module_name, module in stubs.public_modules(neura).items():
        for name in stubs.public_names(module):
            found[f"{module_name}.{name}"] = getattr(module, name)
    for name in dir(neura):
        if not name.startswith("__"):
            found.setdefault(f"neura.{name}", getattr(neura, name))
    for name in dir(neura._neura):
        if name not in HOOKS:
            found.setdefault(f"neura._neura.{name}", getattr(neura._neura, name))
    # neura.multiprocessing has names of the standard library, which start processes and wait for them.
    found = {
        name: f for name, f in found.items() if not str(getattr(f, "__module__", "")).startswith("multiprocessing")
    }
    # Functions that make whole networks, of hundreds of megabytes each.
    found = {name: f for name, f in found.items() if isinstance(f, type) or not name.startswith("neura.models.")}
    functions = {name: f for name, f in {id(f): (name, f) for name, f in found.items() if callable(f)}.values()}
    classes = {c: name for name, c in functions.items() if isinstance(c, type) and c.__module__.startswith("neura")}
    return functions, {c: name for c, name in classes.items() if not issubclass(c, BaseException)}


class Fuzz:
    def __init__(self, seed):
        self.r = random.Random(seed)
        functions, classes = public()
        self.functions, self.classes = list(functions.items()), list(classes.items())
        self.known = {}
        self.pool, self.without = {}, []
        for cls, name in self.classes:
            made = example(cls, self.r)
            if made is None:
                self.without.append(name)
            else:
                self.pool[cls] = [made, 0]
        self.live = [(cls, name) for cls, name in self.classes if cls in self.pool]
        self.returned = self.foreign = self.gradients = 0
        self.done = collections.Counter()

    def arguments(self, function):
        """Random ones; or what the names ask for, with some of it wrong."""
        r = self.r
        try:
            key = getattr(function, "__func__", function)
            if key not in self.known:
                self.known[key] = parameters_of(function)
            required, names = self.known[key]
        except Exception:  # has no hash, or is one of ours that raises whatever is asked
            required, names = [], []
        if not names or r.random() < 0.35:
            args = [tensor(r) if i == 0 and r.random() < 0.8 else argument(r) for i in range(r.randrange(5))]
            return args, {r.choice(KEYWORDS): argument(r) for _ in range(r.choice([0, 0, 0, 1]))}
        right, huge = r.choice([0.6, 0.9, 1]), r.choice([0, 0, 0.1, 0.3])

        def value(name):
            if r.random() < huge:
                return r.choice(HUGE)
            return RIGHT.get(name, tensor)(r) if r.random() < right else argument(r)

        args = [value(name) for name in required]
        rest = [name for name in names if name not in required and (name != "out" or r.random() < 0.2)]
        return args, {name: value(name) for name in r.sample(rest, min(len(rest), r.choice([0, 0, 1, 2, 3])))}

    def attempt(self, function, /, *args, **keywords):
        """The result, or None after an exception."""
        try:
            result = function(*args, **keywords)
            self.returned += 1
            return result
        except Exception as error:
            # Python's own list() asks for the memory of what says that it is long.
            if type(error) is not MemoryError or not any(
                isinstance(a, fuzz_values.Long) for a in [*args, *keywords.values()]
            ):
                self.look_at(error)
            return None
        finally:
            restore()

    def look_at(self, error):
        if isinstance(error, fuzz_values.Planned):
            return
        try:
            text = str(error)
        except Exception:  # of a class of the test's own
            return
        said = text.replace("'nanobind.nb_func' object", "")  # the type of an argument that was a function
        if type(error) in (SystemError, MemoryError) or any(word in said for word in FOREIGN):
            print(f"FOREIGN {type(error).__name__}: {text[:300]}", flush=True)
            self.foreign += 1

    def backward(self, result, deep=2):
        """Gradients of what came out, and of them again."""
        if isinstance(result, (tuple, list)) and deep:
            for part in result[:3]:
                self.backward(part, deep - 1)
        elif isinstance(result, neura.Tensor) and result.requires_grad:
            self.gradients += 1
            self.attempt(self.differentiate, result)

    def differentiate(self, result):
        total = (result * result).real.sum() if self.r.random() < 0.5 else result.real.sum()
        again = self.r.random() < 0.3
        total.backward(create_graph=again)
        if again:
            leaves = [node.variable for node, _ in total.grad_fn.next_functions if hasattr(node, "variable")]
            for leaf in leaves[:2]:
                if leaf.grad is not None and leaf.grad.requires_grad:
                    leaf.grad.real.sum().backward()

    def call(self, function):
        args, keywords = self.arguments(function)
        result = self.attempt(function, *args, **keywords)
        self.backward(result)
        return result

    def function(self):
        name, function = self.r.choice(self.functions)
        print(name, flush=True)
        made = self.call(function)
        if type(made) in self.pool:
            self.pool[type(made)] = [made, 0]
        elif callable(made) and not isinstance(made, type):
            self.call(made)
        if isinstance(made, neura.utils.hooks.RemovableHandle):
            self.attempt(made.remove)

    def instance(self):
        r = self.r
        cls, name = (neura.Tensor, "neura.Tensor") if r.random() < 0.3 else r.choice(self.live)
        entry = self.pool[cls]
        entry[1] += 1
        if entry[1] > 15:
            made = example(cls, r)
            entry[:] = [entry[0] if made is None else made, 0]
        act = r.choice([self.method, self.method, self.method, self.special, self.special, self.use, self.change])
        print(name, act.__name__, flush=True)
        self.done[act.__name__] += 1
        act(entry[0])

    def names(self, thing):
        try:
            return [name for name in dir(thing) if not name.startswith("__")] or ["__init__"]
        except Exception:
            return ["__init__"]

    def method(self, thing):
        name = self.r.choice(self.names(thing))
        member = self.attempt(getattr, thing, name)
        if callable(member):
            print("", name, flush=True)
            self.call(member)

    def special(self, thing):
        name = self.r.choice(SPECIAL)
        if name in NOT_CALLED or not hasattr(type(thing), name):
            return
        print("", name, flush=True)
        if name == "__enter__":
            self.attempt(self.within, thing)
        elif name in ("__setattr__", "__delattr__", "__getattribute__", "__getattr__"):
            self.change(thing)
        else:
            member = self.attempt(getattr, thing, name)
            if callable(member):
                self.call(member)

    def within(self, thing):
        with thing:
            self.call(self.r.choice(self.functions)[1])

    def use(self, thing):
        """Calls it, or walks over it."""
        if callable(thing) and self.r.random() < 0.6:
            self.call(thing)
        else:
            self.attempt(lambda: list(itertools.islice(iter(thing), 5)))

    def change(self, thing):
        """Sets or deletes a member."""
        name = self.r.choice(self.names(thing) + ["new", "__class__", "__dict__", "weight", ""])
        if self.r.random() < 0.2:
            self.attempt(delattr, thing, name)
        else:
            value = RIGHT[name](self.r) if name in RIGHT and self.r.random() < 0.3 else argument(self.r)
            self.attempt(setattr, thing, name, value)

    def run(self, calls):
        for i in range(calls):
            if i % 100 == 0:
                faulthandler.dump_traceback_later(PATIENCE, exit=True)
                gc.collect()
            self.function() if self.r.random() < 0.45 else self.instance()
        faulthandler.cancel_dump_traceback_later()


def restore():
    """What a call may have changed for all that follow."""
    neura._neura._exchange_modes(MODES, 0)
    for mode in reversed(getattr(neura.overrides._here, "modes", [])):
        type(mode)._leave(mode)  # an attribute of its own may be anything by now
    neura.set_default_dtype(neura.float32)
    neura.set_num_threads(THREADS)


def main(seed, calls):
    soft = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
    faulthandler.enable()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        fuzz = Fuzz(seed)
        fuzz.run(calls)
        os.chdir("/")
    print(f"without an example: {' '.join(fuzz.without)}")
    print(
        f"{fuzz.returned} of {calls} returned, {fuzz.gradients} gradients, {fuzz.foreign} foreign, "
        f"{len(fuzz.functions)} functions, {len(fuzz.live)} classes",
        flush=True,
    )


def run_calls(seed, calls):
    done = subprocess.run([sys.executable, __file__, str(seed), str(calls)], capture_output=True, text=True)
    assert done.returncode == 0, f"seed {seed}: {done.stdout[-300:]} killed the process\n{done.stderr[-2000:]}"
    foreign = [line for line in done.stdout.splitlines() if line.startswith("FOREIGN")]
    assert not foreign, f"seed {seed}: {foreign[:5]}"
    returned, gradients = re.match(r"(\d+) of \d+ returned, (\d+) gradients", done.stdout.splitlines()[-1]).groups()
    assert int(returned) > calls // 100
    return int(gradients)


def test_wrong_calls_are_exceptions():
    if "NEURA_FUZZ_CALLS" not in os.environ:
        assert run_calls(7, CALLS) > CALLS // 100
        return
    for _ in range(-(-CALLS // CALLS_OF_A_PROCESS)):
        run_calls(random.SystemRandom().randrange(1 << 31), min(CALLS, CALLS_OF_A_PROCESS))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
