"""Wrong calls of everything end as exceptions: no dead process, no hang, no memory without bound.

    fuzz_test.py SEED CALLS    runs that many calls in this process and says how many returned
"""

import faulthandler
import inspect
import os
import random
import resource
import subprocess
import sys
import tempfile

import neura
import neura.utils.dlpack
import numpy as np

CALLS = 20000
MEMORY = 4 << 30  # bytes of address space beyond what the process has at the start
PATIENCE = 120  # seconds for a hundred calls
GLOBAL = (  # change what later calls mean, or leave this process
    "_enter_grad _leave_grad _enter_inference _leave_inference _set_grad_enabled set_default_dtype set_grad_enabled "
    "set_num_threads set_num_interop_threads set_default_device fork_rng"
).split()
KEYWORDS = (
    "dim keepdim out dtype input other p reduction size weight bias stride padding index device requires_grad mask src "
    "value n k groups eps lr copy mode normalized_shape indices memory_format"
).split()


class Marked(neura.Tensor):
    pass


def owners():
    """The public namespaces, as far as they exist."""
    names = "nn nn.functional nn.init nn.utils optim optim.lr_scheduler utils.data utils.dlpack autograd special linalg"
    found = [neura, neura.Tensor, neura.Size, neura.device, neura.float32]
    for path in (names + " masked signal.windows func random").split():
        owner = neura
        for part in path.split("."):
            owner = getattr(owner, part, None)
        if owner is not None:
            found.append(owner)
    return found


def callables():
    for owner in owners():
        special = (
            [] if inspect.ismodule(owner) else ["__getitem__", "__setitem__", "__add__", "__pow__", "__deepcopy__"]
        )
        for name in [n for n in dir(owner) if not n.startswith("__")] + special:
            function = getattr(owner, name, None)
            if callable(function) and name not in GLOBAL:
                yield f"{getattr(owner, '__name__', owner)}.{name}", function


def tensor(r):
    dtypes = [neura.float32, neura.float64, neura.int64, neura.bool, neura.complex64, neura.bfloat16, neura.uint8]
    t = neura.ones(tuple(r.choice([0, 1, 2, 3]) for _ in range(r.randrange(4)))).to(
        r.choice(dtypes + [neura.float8_e5m2])
    )
    kind = r.randrange(8)
    if kind == 0 and t.dim() > 1:
        return t.transpose(0, 1)
    if kind == 1 and t.dtype.is_floating_point and t.dtype is not neura.float8_e5m2:
        return t.requires_grad_() * (1 if r.random() < 0.5 else 2)
    if kind == 2:
        return t.unsqueeze(0).expand(3, *t.shape)
    if kind == 3:
        return Marked(t) if r.random() < 0.5 else t.reshape(-1)[::2]
    return t


def argument(r):
    if r.random() < 0.3:
        return tensor(r)
    loop = []
    loop.append(loop)
    simple = [-3, 2, 0.5, None, "mean", (1, 2), [-1, 0], True, neura.float64, object(), slice(0, 2), 1j, "cpu", -1, 0]
    strange = [
        2**31,
        -(2**63),
        2**62,
        2**70,
        float("nan"),
        float("inf"),
        -float("inf"),
        "",
        "\0",
        "é",
        "\udcff",
        b"x",
    ]
    strange += [
        {},
        {"a": 1},
        set(),
        [],
        (),
        loop,
        [[[]]],
        range(3),
        lambda *a: a[0],
        Ellipsis,
        slice(None, None, -1),
        int,
    ]
    strange += [
        np.arange(6.0)[::-2],
        np.ones((2, 2), ">f4"),
        np.array("a"),
        np.float16(2),
        neura.device("cpu"),
        iter([1]),
    ]
    mixed = [[tensor(r), tensor(r)], (tensor(r), 1), neura.ones(2, requires_grad=True), neura.Size([2]), 10**6]
    return r.choice(r.choice([simple, simple, strange, mixed]))


def call(r, function, depth=0):
    args = [tensor(r) if i == 0 and r.random() < 0.85 else argument(r) for i in range(r.randrange(5))]
    keywords = {r.choice(KEYWORDS): argument(r) for _ in range(r.choice([0, 0, 0, 1]))}
    try:
        result = function(*args, **keywords)
    except Exception:
        return 0
    if depth < 2 and not isinstance(result, (neura.Tensor, type, str, int, float, tuple, list, dict)):  # a made object
        for name in r.sample(dir(result), min(3, len(dir(result)))):
            method = getattr(result, name, None)
            if callable(method) and not name.startswith("__"):
                call(r, method, depth + 1)
        if callable(result):
            call(r, result, depth + 1)
    return 1


def main(seed, calls):
    soft = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
    r, functions, returned = random.Random(seed), list(callables()), 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for i in range(calls):
            if i % 100 == 0:
                faulthandler.dump_traceback_later(PATIENCE, exit=True)
            name, function = r.choice(functions)
            print(name, flush=True)
            returned += call(r, function)
        os.chdir("/")
    print(f"{returned} of {calls} returned, {len(functions)} functions")


def test_wrong_calls_are_exceptions():
    done = subprocess.run([sys.executable, __file__, "7", str(CALLS)], capture_output=True, text=True)
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0, f"{last} killed the process\n{done.stderr[-2000:]}"
    assert "returned" in last and int(last.split()[0]) > CALLS // 100


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
