"""Wrong calls of everything end as exceptions, never as a dead process."""

import random
import subprocess
import sys

import neura
import neura.nn.functional as F

CALLS = 20000
MODES = ("_enter_grad", "_leave_grad", "_enter_inference", "_leave_inference", "_set_grad_enabled", "set_default_dtype")
KEYWORDS = "dim keepdim out dtype input other p reduction size weight bias stride padding index".split()


def callables():
    for owner in (neura, F, neura.special, neura.linalg, neura.Tensor):
        for name in dir(owner):
            if callable(getattr(owner, name)) and not name.startswith("__") and name not in MODES:
                yield f"{owner.__name__}.{name}", getattr(owner, name)


def tensor(r):
    dtypes = [neura.float32, neura.float64, neura.int64, neura.bool, neura.complex64, neura.bfloat16, neura.uint8]
    return neura.ones(tuple(r.choice([0, 1, 2, 3]) for _ in range(r.randrange(4)))).to(r.choice(dtypes))


def argument(r):
    if r.random() < 0.3:
        return tensor(r)
    kinds = [-3, 2, 0.5, None, "mean", (1, 2), [-1, 0], True, neura.float64, object(), slice(0, 2), 1j, "cpu"]
    return r.choice(kinds + [[tensor(r), tensor(r)], neura.ones(2, requires_grad=True)])


def main(seed):
    r, functions, returned = random.Random(seed), list(callables()), 0
    for _ in range(CALLS):
        name, function = r.choice(functions)
        args = [tensor(r) if i == 0 and r.random() < 0.85 else argument(r) for i in range(r.randrange(5))]
        keywords = {r.choice(KEYWORDS): argument(r) for _ in range(r.choice([0, 0, 0, 1]))}
        print(name, flush=True)
        try:
            function(*args, **keywords)
            returned += 1
        except Exception:
            pass
    print(f"{returned} of {CALLS} returned")


def test_wrong_calls_are_exceptions():
    done = subprocess.run([sys.executable, __file__, "7"], capture_output=True, text=True)
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0, f"{last} killed the process\n{done.stderr[-2000:]}"
    assert last.endswith("returned") and int(last.split()[0]) > CALLS // 100


if __name__ == "__main__":
    main(int(sys.argv[1]))
