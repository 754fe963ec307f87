"""A TensorDataset in a DataLoader without shuffling: batches, last one, sizes."""


def run(torch):
    DataLoader, TensorDataset = torch.utils.data.DataLoader, torch.utils.data.TensorDataset

    x, y = torch.arange(20.0).view(10, 2), torch.arange(10) % 3
    dataset = TensorDataset(x, y)
    loader = DataLoader(dataset, batch_size=4)
    sums, labels = [], []
    for inputs, targets in loader:
        sums.append(inputs.sum(0))
        labels.append(targets)
    return {
        "sums": torch.stack(sums),
        "labels": labels,
        "lengths": [len(dataset), len(loader), len(DataLoader(dataset, batch_size=4, drop_last=True))],
        "sample": dataset[3],
        "slice": dataset[2:4],
    }
