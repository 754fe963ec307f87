#!/usr/bin/env python3
"""Looks at a wheel of neura-cuda13, and installs it after a wheel of neura into an environment in which nothing is.

    check_cuda_wheel.py CUDA_WHEEL NEURA_WHEEL PYTHON
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

from check_wheel import SYSTEM, run, seconds

LIBRARY = "neura_cuda13/libneura_cuda.so"
ASK = """
import neura
def loaded():
    return [line.split()[-1] for line in open('/proc/self/maps') if 'libneura_cuda' in line]
assert not loaded(), 'importing neura loads the back end'
if neura.cuda.is_available():
    print('there is a device')
else:
    try:
        neura.ones(1).cuda()
    except neura.errors.DeviceError as e:
        print(e)
print(*sorted(set(loaded())))
"""


def version_of(wheel):
    return pathlib.Path(wheel).name.split("-")[1]


def contents(wheel):
    wheel = pathlib.Path(wheel)
    assert re.fullmatch(r"neura_cuda13-[\d.]+-py3-none-manylinux_\d+_\d+_x86_64.whl", wheel.name), wheel.name
    files = zipfile.ZipFile(wheel)
    carried = [name for name in files.namelist() if ".dist-info/" not in name]
    assert carried == [LIBRARY], f"the wheel would install {carried}, expected {LIBRARY} alone"
    for text in ("LICENSE-APACHE", "LICENSE-MIT"):
        assert any(name.endswith(f".dist-info/licenses/{text}") for name in files.namelist()), f"{text} is not there"
    return f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB"


def libraries(wheel, folder):
    """What the system must have. NVIDIA's libraries are none of that: they are loaded when they are first needed."""
    file = zipfile.ZipFile(wheel).extract(LIBRARY, folder)
    told = subprocess.run(["readelf", "-d", file], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", told)
    strange = [name for name in needed if not SYSTEM.match(name)]
    assert not strange, f"the back end needs {strange}"
    assert not re.search(r"\((RPATH|RUNPATH)\)", told), "the back end names a folder of this machine"
    return ", ".join(sorted(needed))


def install(python, wheel):
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", wheel]
    subprocess.run(pip, check=True)


def import_time(python, folder):
    return 1e3 * (seconds(python, "import neura", folder) - seconds(python, "pass", folder))


def main():
    wheel, neura, python = sys.argv[1:]
    assert version_of(wheel) == version_of(neura), f"{wheel} is not of the version of {neura}"
    with tempfile.TemporaryDirectory() as folder:
        print(f"wheel: {contents(wheel)}; it needs {libraries(wheel, folder)}")
        install(python, neura)
        before = import_time(python, folder)
        alone = run(python, ASK, folder).split("\n")  # what is said, and the libraries loaded: none
        assert "pip install neura[cuda]" in alone[0] and alone[1:2] == [""], alone
        install(python, wheel)
        said = run(python, ASK, folder).splitlines()
        assert len(said) == 2 and said[1].endswith("site-packages/" + LIBRARY), said
        assert re.search("there is a device|no NVIDIA driver was found; install one|shows no device", said[0]), said
        print(f"beside {pathlib.Path(neura).name}: {said[0]}")
        print(f"import neura takes {before:.1f} ms without it, {import_time(python, folder):.1f} ms with it")


if __name__ == "__main__":
    main()
