"""Where the package looks for its back end for CUDA: the device for tests takes the place of the wheel neura-cuda13."""

import os
import pathlib
import subprocess
import sys

import neura
import pytest

LIBRARY = os.environ.get("NEURA_CUDA_LIBRARY", "")
if "host_device" not in LIBRARY:
    pytest.skip("needs the device for tests", allow_module_level=True)

ASK = "import neura; print(neura.cuda.device_count(), neura._neura._cuda.why_not())"


@pytest.fixture
def site(tmp_path):
    """The package as wheels are laid out: its library has no back end beside it, whatever the build tree has."""
    package, build = pathlib.Path(neura.__file__).parent, pathlib.Path(LIBRARY).parent
    (tmp_path / "site").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "site" / "neura").symlink_to(package)
    for file in build.glob("libneura*.so*"):
        if file.name != "libneura_cuda.so":
            (tmp_path / "lib" / file.name).symlink_to(file)
    return tmp_path / "site"


def add(folder, target):
    (folder / "neura_cuda13").mkdir(parents=True)
    (folder / "neura_cuda13" / "libneura_cuda.so").symlink_to(target)


def ask(*folders, cwd=None):
    environment = {k: v for k, v in os.environ.items() if k != "NEURA_CUDA_LIBRARY"}
    environment["PYTHONPATH"] = os.pathsep.join(str(f) for f in folders)
    environment["LD_LIBRARY_PATH"] = str(folders[0].parent / "lib")  # before what the module names
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count, _, why = done.stdout.strip().partition(" ")
    return int(count), why


def test_without_the_wheel_it_says_how_to_get_it(site):
    count, why = ask(site)
    assert count == 0
    assert why.startswith("its library cannot be loaded (")
    assert why.endswith("); use the cpu, or install the build of Neura with CUDA: pip install neura[cuda]")


def test_the_wheel_is_found_beside_the_package(site):
    add(site, LIBRARY)
    assert ask(site) == (2, "")


def test_the_wheel_is_found_in_another_folder_of_packages(site, tmp_path):
    add(tmp_path / "more", LIBRARY)
    assert ask(site, tmp_path / "more") == (2, "")


def test_the_reason_is_that_of_the_file_that_is_there(site):
    broken = site / "broken"
    broken.write_text("no library")
    add(site, broken)
    count, why = ask(site)
    assert count == 0
    assert why.startswith(f"its library cannot be loaded ({site}/neura_cuda13/libneura_cuda.so: ")
    assert "cannot open shared object" not in why


def test_the_working_folder_is_not_looked_into(site, tmp_path):
    """Its name on sys.path is empty, and it may be another one later."""
    add(tmp_path / "here", LIBRARY)
    count, why = ask(site, cwd=tmp_path / "here")
    assert count == 0 and "pip install neura[cuda]" in why
