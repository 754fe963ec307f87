#!/usr/bin/env python3
"""Looks at a wheel and at an environment into which it, and nothing else, was installed.

    check_wheel.py WHEEL PYTHON
"""
import importlib.util
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).parent.parent
MOST_BYTES = 15_000_000
# What every Linux has that runs Python (the manylinux policy names the same).
SYSTEM = re.compile(r"^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)[.-]")
HEAVY = ["numpy", "inspect", "dataclasses", "typing", "asyncio", "multiprocessing", "ctypes", "subprocess"]


def run(python, program, folder):
    return subprocess.run([python, "-I", "-c", program], cwd=folder, check=True, capture_output=True, text=True).stdout


def seconds(python, program, folder):
    times = []
    for _ in range(9):
        start = time.perf_counter()
        run(python, program, folder)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def contents(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in ("neura/__init__.py", "neura/__init__.pyi", "neura/py.typed", "neura/nn/__init__.pyi"):
        assert wanted in names, f"{wanted} is not in the wheel"
    assert any(re.fullmatch(r"neura/_neura.*\.so", name) for name in names), "there is no extension module"
    strange = [name for name in names if not name.startswith(("neura/", "neura-"))]
    assert not strange, f"the wheel would install {strange[:5]}"
    bytes_ = pathlib.Path(wheel).stat().st_size
    assert bytes_ <= MOST_BYTES, f"the wheel has {bytes_} bytes, at most {MOST_BYTES}"
    return f"{len(names)} files, {bytes_ / 1e6:.1f} MB"


def libraries(python, folder):
    """Every library that is not the system's must come from the package itself."""
    module = run(python, "import neura._neura as m; print(m.__file__)", folder).strip()
    home = str(pathlib.Path(module).parent)
    needed = subprocess.run(["ldd", module], check=True, capture_output=True, text=True).stdout
    own = 0
    for line in needed.splitlines():
        name, _, path = line.strip().partition(" => ")
        if SYSTEM.match(pathlib.Path(name.split()[0]).name):
            continue
        assert path.startswith(home), f"the module needs a library of this machine: {line.strip()}"
        own += 1
    return f"{own} libraries of its own"


def examples(python, folder):
    """Programs of examples/python, with the wheel's package and this Python's NumPy."""
    numpy = importlib.util.find_spec("numpy")
    names = ["training_on_a_device", "serialization_example"]
    names += ["first_steps", "python_bindings_example"] if numpy else []
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    if numpy:
        environment["PYTHONPATH"] = str(pathlib.Path(numpy.origin).parents[1])
    for name in names:
        command = [python, ROOT / "examples" / "python" / f"{name}.py", "--quick"]
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return "examples: " + ", ".join(names) + (" (the others need NumPy)" if not numpy else "")


def main():
    wheel, python = sys.argv[1:]
    readme = (ROOT / "README.md").read_text()
    with tempfile.TemporaryDirectory() as folder:
        print("wheel:", contents(wheel) + ",", libraries(python, folder))
        loaded = run(python, "import sys, neura; print(*sys.modules)", folder).split()
        assert not set(HEAVY) & set(loaded), f"importing neura loads {set(HEAVY) & set(loaded)}"
        bare, whole = seconds(python, "pass", folder), seconds(python, "import neura", folder)
        print(f"import neura takes {1e3 * (whole - bare):.1f} ms beyond Python's own {1e3 * bare:.1f} ms")
        for program in re.findall(r"```python\n(.*?)```", readme, re.DOTALL):
            print(run(python, program, folder), end="")
        print(examples(python, folder))


if __name__ == "__main__":
    main()
