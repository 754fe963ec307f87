"""A gated cell from three Linear layers over a sequence; last state to a class; float32."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class GRU(nn.Module):
        def __init__(self, inputs, hidden):
            super().__init__()
            self.gates = nn.Linear(inputs + hidden, 2 * hidden)
            self.candidate = nn.Linear(inputs + hidden, hidden)

        def forward(self, x):
            h = x.new_zeros(x.size(0), self.candidate.out_features)
            states = []
            for step in x.unbind(1):
                update, reset = self.gates(torch.cat([step, h], 1)).sigmoid().chunk(2, 1)
                new = torch.tanh(self.candidate(torch.cat([step, reset * h], 1)))
                h = torch.lerp(new, h, update)
                states.append(h)
            return torch.stack(states, 1), h

    gru, head = settle(torch, GRU(3, 5)), settle(torch, nn.Linear(5, 2), seed=7)
    x, y = noise(torch, 4, 6, 3), torch.tensor([0, 1, 1, 0])
    optimizer = torch.optim.RMSprop([*gru.parameters(), *head.parameters()], lr=0.005)
    losses = []
    for _ in range(4):
        states, last = gru(x)
        loss = nn.functional.cross_entropy(head(last), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "states": states[0], "gradient": gru.candidate.weight.grad}
