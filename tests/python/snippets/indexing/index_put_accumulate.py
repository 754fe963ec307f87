"""Repeated indices: assignment keeps one, index_put with accumulate adds all, so does index_add."""


def run(torch):
    index = torch.tensor([0, 1, 1, 3])
    x = torch.zeros(4)
    x.index_put_((index,), torch.tensor([1.0, 2.0, 3.0, 4.0]), accumulate=True)
    grid = torch.zeros(3, 3, dtype=torch.int64)
    rows, columns = torch.tensor([0, 2, 0, 2]), torch.tensor([1, 1, 1, 0])
    grid.index_put_((rows, columns), torch.tensor(1), accumulate=True)
    table = torch.ones(3, 2)
    table.index_add_(0, torch.tensor([2, 0, 2]), torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), alpha=0.5)
    copied = torch.zeros(3, 2).index_copy(0, torch.tensor([2, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    filled = torch.zeros(2, 4).index_fill(1, torch.tensor([0, 3]), -1)
    lost = torch.zeros(4)
    lost[torch.tensor([1, 1])] += 1
    return {"x": x, "grid": grid, "table": table, "copied": copied, "filled": filled, "lost": lost}
