"""Checkpointing gives the same gradients as keeping everything; counts how often forward runs."""

from fixed import noise, settle


def run(torch):
    checkpoint = torch.utils.checkpoint.checkpoint

    nn = torch.nn
    calls = []

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(5, 5)

        def forward(self, x):
            calls.append(1)
            return x + torch.tanh(self.linear(x))

    blocks = settle(torch, nn.ModuleList(Block() for _ in range(3)))
    x = noise(torch, 4, 5).requires_grad_()
    h = x
    for block in blocks:
        h = block(h)
    h.pow(2).mean().backward()
    plain = [p.grad.clone() for p in blocks.parameters()] + [x.grad.clone()]
    blocks.zero_grad()
    x.grad = None
    h = x
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    h.pow(2).mean().backward()
    again = [p.grad for p in blocks.parameters()] + [x.grad]
    return {"calls": len(calls), "same": all(torch.equal(a, b) for a, b in zip(plain, again)), "gradient": x.grad}
