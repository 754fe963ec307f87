"""Sorting, stable order, ranks, top-k, k-th value, median, search in sorted borders."""


def run(torch):
    x = torch.tensor([3.0, 1.0, 2.0, 3.0, -1.0, 2.5, 1.0])
    values, order = torch.sort(x, stable=True)
    down = x.sort(descending=True)
    top = x.topk(3)
    borders = torch.tensor([0.0, 1.0, 2.0, 3.0])
    return {
        "values": values,
        "order": order,
        "descending": down.values,
        "ranks": x.argsort(stable=True).argsort(),
        "top": top.values,
        "kth": x.kthvalue(2).values,
        "median": x.median(),
        "bucket": torch.bucketize(x, borders),
        "right": torch.searchsorted(borders, x, right=True),
        "columns": torch.stack([x, -x]).sort(dim=0).indices,
        "same": torch.equal(x[order], values),
    }
