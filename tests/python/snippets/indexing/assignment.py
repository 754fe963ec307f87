"""Assigning numbers, rows and broadcast values to parts of a tensor."""


def run(torch):
    x = torch.zeros(4, 5)
    x[0] = 1
    x[1, 2:] = torch.tensor([7.0, 8.0, 9.0])
    x[:, -1] = torch.arange(4.0)
    x[2:, :2] = torch.tensor([[3.0], [4.0]])
    x[[0, 2], [1, 1]] = torch.tensor([-1.0, -2.0])
    x[3, ...] += 0.5
    x[1][0] = 42
    y = torch.zeros(3, 3, dtype=torch.int64)
    y[torch.arange(3), torch.tensor([2, 0, 1])] = 1
    y[y == 0] = -1
    z = torch.zeros(2, 2)
    z[0, 0] = True
    z[1] = torch.tensor(3)
    return {"x": x, "y": y, "z": z}
