"""Meta-learning: a gradient through a step of gradient descent, by functional_call."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = settle(torch, nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)))
    call = (
        torch.func.functional_call
        if hasattr(torch.func, "functional_call")
        else torch.nn.utils.stateless.functional_call
    )
    meta = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for outer in range(3):
        meta.zero_grad()
        total = 0.0
        for task in range(2):
            x = noise(torch, 6, 1, seed=outer + 10 * task)
            y = torch.sin(3 * x + task)
            fast = dict(net.named_parameters())
            inner = (call(net, fast, (x[:3],)) - y[:3]).square().mean()
            grads = torch.autograd.grad(inner, list(fast.values()), create_graph=True)
            fast = {k: p - 0.1 * g for (k, p), g in zip(fast.items(), grads)}
            total = total + (call(net, fast, (x[3:],)) - y[3:]).square().mean()
        total.backward()
        meta.step()
        losses.append(total.item())
    return {"losses": losses, "gradient": net[0].weight.grad}
