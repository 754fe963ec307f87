"""A Dataset of one's own with a transform; items, length, batches of tuples."""


def run(torch):
    DataLoader, Dataset = torch.utils.data.DataLoader, torch.utils.data.Dataset

    class Squares(Dataset):
        def __init__(self, n, transform=None):
            self.n, self.transform = n, transform

        def __len__(self):
            return self.n

        def __getitem__(self, i):
            if i >= self.n:
                raise IndexError(i)
            x = torch.tensor([float(i), float(i * i)])
            if self.transform is not None:
                x = self.transform(x)
            return x, i % 2, f"item {i}"

    loader = DataLoader(Squares(5, transform=lambda x: x / 10), batch_size=2)
    x, label, name = next(iter(loader))
    return {
        "x": x,
        "label": label,
        "dtype": str(label.dtype),
        "name": name,
        "all": torch.cat([batch[0] for batch in loader]),
        "from_iteration": len(list(Squares(3))),
    }
