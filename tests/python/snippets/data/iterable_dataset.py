"""A stream as IterableDataset: batches in order, the last one short, no length."""


def run(torch):
    DataLoader, IterableDataset = torch.utils.data.DataLoader, torch.utils.data.IterableDataset

    class Stream(IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            state = 12345
            for _ in range(self.n):
                state = (state * 1103515245 + 12345) % 2**31
                yield torch.tensor([state % 100, state % 7])

    loader = DataLoader(Stream(7), batch_size=3)
    batches = list(loader)
    try:
        length = len(loader)
    except TypeError:
        length = "none"
    return {
        "batches": batches,
        "again": torch.equal(torch.cat(list(loader)), torch.cat(batches)),
        "length": length,
        "single": next(iter(DataLoader(Stream(2), batch_size=None))),
        "dropped": len(list(DataLoader(Stream(7), batch_size=3, drop_last=True))),
    }
