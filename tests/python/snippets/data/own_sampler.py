"""A sampler that groups by length, used as sampler and as batch_sampler."""


def run(torch):
    DataLoader, Sampler = torch.utils.data.DataLoader, torch.utils.data.Sampler

    class ByLength(Sampler):
        def __init__(self, lengths, size):
            self.order = sorted(range(len(lengths)), key=lambda i: (lengths[i], i))
            self.size = size

        def __iter__(self):
            for start in range(0, len(self.order), self.size):
                yield self.order[start : start + self.size]

        def __len__(self):
            return -(-len(self.order) // self.size)

    samples = [torch.arange(n) for n in (3, 1, 2, 3, 2, 1, 4)]
    sampler = ByLength([len(s) for s in samples], 2)
    loader = DataLoader(samples, batch_sampler=sampler, collate_fn=lambda batch: batch)
    flat = DataLoader(samples, sampler=[6, 0, 3], batch_size=None)
    return {
        "lengths": [[len(s) for s in batch] for batch in loader],
        "order": list(sampler),
        "count": len(loader),
        "flat": [s for s in flat],
    }
