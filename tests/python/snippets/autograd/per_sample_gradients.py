"""Norm of each sample's gradient, one backward a sample, then clipped and averaged as in private training."""

from fixed import noise, settle


def run(torch):
    net = settle(torch, torch.nn.Linear(3, 1)).double()
    x, y = noise(torch, 5, 3).double(), noise(torch, 5, 1, seed=4).double()
    total = [torch.zeros_like(p) for p in net.parameters()]
    norms = []
    for i in range(len(x)):
        net.zero_grad(set_to_none=True)
        torch.nn.functional.mse_loss(net(x[i : i + 1]), y[i : i + 1]).backward()
        norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in net.parameters()))
        factor = (0.5 / (norm + 1e-6)).clamp(max=1.0)
        for t, p in zip(total, net.parameters()):
            t.add_(p.grad * factor)
        norms.append(norm)
    return {"norms": torch.stack(norms), "weight": total[0] / 5, "bias": total[1] / 5}
