"""Arrays of NumPy as data: from_numpy, default collate of arrays and numbers."""

import numpy


def run(torch):
    DataLoader, Dataset = torch.utils.data.DataLoader, torch.utils.data.Dataset

    class Arrays(Dataset):
        def __init__(self):
            self.x = numpy.arange(12, dtype=numpy.float32).reshape(6, 2)
            self.y = numpy.array([0, 1, 0, 1, 1, 0])

        def __len__(self):
            return len(self.x)

        def __getitem__(self, i):
            return self.x[i], self.y[i], numpy.float64(i) / 4

    x, y, z = next(iter(DataLoader(Arrays(), batch_size=4)))
    shared = numpy.zeros(3)
    tensor = torch.from_numpy(shared)
    shared[1] = 5
    return {
        "x": x,
        "y": y,
        "z": z,
        "dtypes": [str(t.dtype) for t in (x, y, z)],
        "shared": tensor,
        "copied": torch.tensor(shared),
    }
