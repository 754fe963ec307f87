"""Lists and tensors of integers as indices: gathering rows, pairs, blocks; where the new axes go."""


def run(torch):
    x = torch.arange(24).view(4, 6)
    y = torch.arange(60).view(3, 4, 5)
    rows, columns = torch.tensor([0, 3, 1]), torch.tensor([5, 2, 2])
    return {
        "rows": x[[2, 0]],
        "pairs": x[rows, columns],
        "block": x[rows[:, None], columns],
        "negative": x[-rows - 1, 0],
        "two_dimensional": x[torch.tensor([[0, 1], [2, 3]])].shape,
        "between": y[:, [0, 2], 1:3],
        "apart": y[[0, 1], :, [2, 4]],
        "apart_shape": y[torch.tensor([0, 1, 2]), :, torch.tensor([[1], [2]])].shape,
        "with_none": y[None, [1], ..., [0]].shape,
        "integer_and_array": y[1, [0, 1], 2],
    }
