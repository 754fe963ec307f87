"""A small variational autoencoder; its noise comes from a fixed table."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.mu, self.log_var = nn.Linear(8, 6), nn.Linear(6, 2), nn.Linear(6, 2)
            self.out = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 8))

        def encode(self, x):
            h = F.relu(self.body(x))
            return self.mu(h), self.log_var(h)

        def forward(self, x, eps):
            mu, log_var = self.encode(x)
            return self.out(mu + torch.exp(0.5 * log_var) * eps), mu, log_var

    x = (noise(torch, 16, 8) > 0).double()
    model = settle(torch, VAE()).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    history = []
    for step in range(15):
        logits, mu, log_var = model(x, noise(torch, 16, 2, seed=step).double())
        rebuilt = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
        kl = -0.5 * torch.sum(1 + log_var - mu**2 - log_var.exp()) / len(x)
        optimizer.zero_grad()
        (rebuilt + kl).backward()
        optimizer.step()
        history.append(torch.stack([rebuilt, kl]).detach())
    return {"history": torch.stack(history), "sampled": torch.sigmoid(model.out(noise(torch, 2, 2).double()))}
