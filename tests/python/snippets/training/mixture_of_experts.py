"""Experts chosen by a gate: top-two routing, a load-balancing term, gradients only where routed."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class Mixture(nn.Module):
        def __init__(self, width, experts, k):
            super().__init__()
            self.gate, self.k = nn.Linear(width, experts, bias=False), k
            self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

        def forward(self, x):
            scores = self.gate(x).softmax(-1)
            top, index = scores.topk(self.k, dim=-1)
            top = top / top.sum(-1, keepdim=True)
            out = torch.zeros_like(x)
            for e, expert in enumerate(self.experts):
                token, slot = torch.where(index == e)
                if token.numel() > 0:
                    out.index_add_(0, token, expert(x[token]) * top[token, slot, None])
            load = torch.nn.functional.one_hot(index, len(self.experts)).sum(1).double().mean(0)
            return out, (load * scores.mean(0)).sum() * len(self.experts)

    model = settle(torch, Mixture(4, 3, 2)).double()
    x = noise(torch, 8, 4).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(8):
        out, balance = model(x)
        loss = (out - x.flip(1)).pow(2).mean() + 0.01 * balance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "balance": balance, "gate": model.gate.weight}
