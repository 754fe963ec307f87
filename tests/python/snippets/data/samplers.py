"""Sequential, random, subset, weighted and batch samplers; indices they give."""


def run(torch):
    data = torch.utils.data

    source = list(range(10))
    torch.manual_seed(0)
    random = list(data.RandomSampler(source))
    drawn = list(data.RandomSampler(source, replacement=True, num_samples=25))
    subset = list(data.SubsetRandomSampler([1, 5, 9]))
    weights = torch.tensor([0.0, 1.0, 0.0, 2.0])
    weighted = list(data.WeightedRandomSampler(weights, num_samples=50))
    batches = list(data.BatchSampler(data.SequentialSampler(source), batch_size=4, drop_last=False))
    return {
        "sequential": list(data.SequentialSampler(source)),
        "random": sorted(random),
        "drawn": [len(drawn), min(drawn) >= 0, max(drawn) <= 9],
        "subset": sorted(subset),
        "weighted": sorted(set(weighted)),
        "batches": batches,
        "lengths": [len(data.BatchSampler(data.SequentialSampler(source), 4, b)) for b in (True, False)],
    }
