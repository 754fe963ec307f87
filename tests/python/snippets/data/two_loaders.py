"""A labelled and an endless unlabelled loader side by side; iterators restarted by hand."""


def run(torch):
    DataLoader, TensorDataset = torch.utils.data.DataLoader, torch.utils.data.TensorDataset

    labelled = DataLoader(TensorDataset(torch.arange(6)), batch_size=2)
    unlabelled = DataLoader(TensorDataset(torch.arange(100, 104)), batch_size=3)
    endless = iter(unlabelled)
    pairs = []
    for epoch in range(2):
        for (a,) in labelled:
            try:
                (b,) = next(endless)
            except StopIteration:
                endless = iter(unlabelled)
                (b,) = next(endless)
            pairs.append([a.tolist(), b.tolist()])
    zipped = [(a.sum() + b.sum()).item() for (a,), (b,) in zip(labelled, unlabelled)]
    return {"pairs": pairs, "zipped": zipped}
