"""Several losses with learned weights, as in multi-task training."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    trunk = settle(torch, nn.Linear(4, 6)).double()
    one, two = settle(torch, nn.Linear(6, 1), seed=3).double(), settle(torch, nn.Linear(6, 3), seed=5).double()
    log_vars = nn.Parameter(torch.zeros(2, dtype=torch.float64))
    parameters = [*trunk.parameters(), *one.parameters(), *two.parameters(), log_vars]
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.5)
    x = noise(torch, 9, 4).double()
    value, label = x.sum(1, keepdim=True), torch.arange(9) % 3
    history = []
    for _ in range(10):
        h = torch.tanh(trunk(x))
        losses = torch.stack([F.mse_loss(one(h), value), F.cross_entropy(two(h), label)])
        total = (losses * torch.exp(-log_vars) + log_vars).sum()
        optimizer.zero_grad(set_to_none=True)
        total.backward()
        optimizer.step()
        history.append(losses.detach())
    return {"history": torch.stack(history), "log_vars": log_vars}
