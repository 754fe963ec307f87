"""Rows of a table by index, index_select and the function; a gradient that adds up over repeats."""

from fixed import noise


def run(torch):
    table = noise(torch, 6, 3).requires_grad_()
    ids = torch.tensor([[1, 4, 1], [0, 1, 5]])
    by_index = table[ids]
    by_select = table.index_select(0, ids.view(-1)).view(2, 3, 3)
    by_function = torch.nn.functional.embedding(ids, table, padding_idx=0)
    assert torch.equal(by_index, by_select) and torch.equal(by_index, by_function)
    (by_index.sum(-1) * torch.arange(6.0).view(2, 3)).sum().backward()
    first = table.grad.clone()
    table.grad = None
    by_function.sum().backward()
    return {"rows": by_index, "gradient": first, "padded_gradient": table.grad}
