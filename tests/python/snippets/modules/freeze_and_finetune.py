"""Freeze a body, train the head; what has gradients, what changed, which parameters count."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    body = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU())
    net = settle(torch, nn.Sequential(body, nn.Linear(6, 2)))
    for p in body.parameters():
        p.requires_grad = False
    body.eval()
    before = {k: v.clone() for k, v in net.state_dict().items()}
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    x, y = noise(torch, 8, 4, seed=3), torch.arange(8) % 2
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    after = net.state_dict()
    body.requires_grad_(True)
    return {
        "changed": [k for k in after if not torch.equal(after[k], before[k])],
        "head": net[1].weight,
        "gradients": [p.grad is not None for p in net.parameters()],
        "trainable": sum(p.numel() for p in net.parameters() if p.requires_grad),
        "modes": [m.training for m in net.modules()],
    }
