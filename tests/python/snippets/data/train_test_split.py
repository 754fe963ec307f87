"""random_split with lengths and fractions, Subset, ConcatDataset."""


def run(torch):
    data = torch.utils.data

    dataset = data.TensorDataset(torch.arange(20), torch.arange(20) % 4)
    generator = torch.Generator().manual_seed(42)
    train, valid, test = data.random_split(dataset, [14, 3, 3], generator=generator)
    parts = data.random_split(dataset, [0.5, 0.3, 0.2])
    joined = data.ConcatDataset([data.Subset(dataset, [0, 1]), data.Subset(dataset, range(10, 13))])
    indices = sorted(list(train.indices) + list(valid.indices) + list(test.indices))
    return {
        "sizes": [len(train), len(valid), len(test)],
        "fractions": [len(p) for p in parts],
        "disjoint": indices == list(range(20)),
        "joined": [int(joined[i][0]) for i in range(len(joined))],
        "last": int(joined[-1][0]),
        "item": train[0][0].item() == train.indices[0],
    }
