"""Dictionaries, lists, tuples, numbers and texts next to tensors in one file."""

import os
import tempfile


def run(torch):
    data = {
        "weights": [torch.arange(3), torch.ones(2, 2, dtype=torch.float64)],
        "config": {"layers": 2, "rate": 0.1, "name": "net", "flags": (True, None)},
        3: torch.tensor(7, dtype=torch.int16),
        "half": torch.tensor([0.5, 1.5], dtype=torch.bfloat16),
        "empty": torch.zeros(0, 4),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.pt")
        torch.save(data, path)
        again = torch.load(path)
    return {
        "weights": again["weights"],
        "config": again["config"],
        "int_key": again[3],
        "dtypes": [str(again[3].dtype), str(again["half"].dtype), list(again["empty"].shape)],
        "half": again["half"],
        "kinds": [type(again["config"]["flags"]).__name__, type(again["weights"]).__name__],
    }
