"""Binary search, bins, run lengths, unique rows, set operations by isin."""


def run(torch):
    edges = torch.tensor([0.0, 1.0, 2.5, 4.0])
    x = torch.tensor([[0.0, 3.0, 5.0], [1.0, 2.5, -1.0]])
    runs = torch.tensor([1, 1, 2, 2, 2, 5, 1])
    values, counts = torch.unique_consecutive(runs, return_counts=True)
    rows, inverse = torch.unique(torch.tensor([[1, 2], [0, 3], [1, 2]]), dim=0, return_inverse=True)
    return {
        "right": torch.bucketize(x, edges, right=True),
        "left": torch.searchsorted(edges, x),
        "values": values,
        "counts": counts,
        "rows": rows,
        "inverse": inverse,
        "isin": torch.isin(runs, torch.tensor([2, 5])),
        "repeat": values.repeat_interleave(counts),
        "cumulative": torch.cummax(runs, 0).indices,
        "combinations": torch.combinations(torch.arange(4), 2),
        "cartesian": torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])),
        "where": torch.argwhere(x > 2),
    }
