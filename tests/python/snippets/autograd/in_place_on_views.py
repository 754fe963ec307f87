"""Writing into views of what is recorded: the gradient follows."""

from fixed import noise


def run(torch):
    x = noise(torch, 3, 4).double().requires_grad_()
    y = x.clone()
    y[0].mul_(2)
    y[:, 1] = y[:, 2].exp()
    y.diagonal().add_(x[:, 3])
    y.view(-1)[-1] = 0
    buffer = torch.zeros(6, dtype=torch.float64)
    for i in range(3):
        buffer[2 * i] = x[i].sum()
        buffer[2 * i + 1] = (x[i] ** 2).sum()
    (y.pow(2).sum() + buffer.sin().sum()).backward()
    return {"y": y, "buffer": buffer, "gradient": x.grad}
