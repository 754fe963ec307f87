"""Wrapping data sets: a cache, a map, a filter, a repeat."""


def run(torch):
    DataLoader, Dataset = torch.utils.data.DataLoader, torch.utils.data.Dataset

    reads = []

    class Source(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            reads.append(i)
            return torch.tensor(i * 1.5)

    class Mapped(Dataset):
        def __init__(self, inner, f):
            self.inner, self.f, self.cache = inner, f, {}

        def __len__(self):
            return 2 * len(self.inner)

        def __getitem__(self, i):
            i %= len(self.inner)
            if i not in self.cache:
                self.cache[i] = self.f(self.inner[i])
            return self.cache[i]

    loader = DataLoader(Mapped(Source(), lambda x: x.exp()), batch_size=3, num_workers=0)
    batches = [b for _ in range(2) for b in loader]
    return {"reads": reads, "batches": batches[:3], "count": len(batches)}
