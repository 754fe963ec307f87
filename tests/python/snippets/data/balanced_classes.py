"""Weights that balance rare classes: how often each class comes, within broad limits."""


def run(torch):
    data = torch.utils.data

    y = torch.tensor([0] * 90 + [1] * 10)
    x = torch.arange(100.0)
    counts = torch.bincount(y)
    weights = (1.0 / counts)[y]
    torch.manual_seed(0)
    sampler = data.WeightedRandomSampler(weights, num_samples=1000, replacement=True)
    seen = torch.zeros(2)
    for inputs, labels in data.DataLoader(data.TensorDataset(x, y), batch_size=100, sampler=sampler):
        assert torch.equal(y[inputs.long()], labels)
        seen += torch.bincount(labels, minlength=2)
    return {
        "weights": weights[[0, 99]],
        "balanced": bool((seen > 400).all()),
        "total": seen.sum(),
        "sampler": len(sampler),
    }
