"""A loader that is dropped before its workers have begun says nothing on its way out."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import neura
from neura.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return neura.full((64, 64), float(i))

if __name__ == "__main__":
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1])
    if sys.argv[2] == "dropped":
        batches = iter(loader)
        del batches
    elif sys.argv[2] == "left":
        for batch in loader:
            break
    else:
        batches = iter(loader)
"""


@pytest.mark.parametrize("how", ["dropped", "left", "the program ends"])
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_dropped_loader_print_no_tracebacks(tmp_path, start, how):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = subprocess.run([sys.executable, str(program), start, how], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0
    assert "Traceback" not in run.stderr, run.stderr
