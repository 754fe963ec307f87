"""A recurrent cell written out learns the parity of the last two bits."""

from fixed import settle


def run(torch):
    nn = torch.nn

    class Cell(nn.Module):
        def __init__(self, inputs, hidden):
            super().__init__()
            self.hidden = hidden
            self.i2h, self.h2h = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden, bias=False)

        def forward(self, x, h):
            return torch.tanh(self.i2h(x) + self.h2h(h))

    bits = (torch.arange(6 * 10) * 7919 % 11 % 2).double().view(6, 10)
    target = (bits[:, 1:] != bits[:, :-1]).double()
    cell, head = settle(torch, Cell(1, 8)).double(), settle(torch, nn.Linear(8, 1), seed=5).double()
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.03)
    losses = []
    for _ in range(30):
        h, outs = torch.zeros(6, cell.hidden, dtype=torch.float64), []
        for t in range(10):
            h = cell(bits[:, t : t + 1], h)
            outs.append(head(h))
        logits = torch.cat(outs, dim=1)[:, 1:]
        loss = nn.functional.binary_cross_entropy_with_logits(logits, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(cell.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return {
        "losses": torch.tensor(losses, dtype=torch.float64)[::5],
        "accuracy": ((logits > 0) == (target > 0)).double().mean(),
    }
