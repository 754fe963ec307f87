"""An autoencoder with a bottleneck of two; reconstruction error and codes."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class AutoEncoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(6, 8), nn.ELU(), nn.Linear(8, 2))
            self.decoder = nn.Sequential(nn.Linear(2, 8), nn.ELU(), nn.Linear(8, 6))

        def forward(self, x):
            code = self.encoder(x)
            return self.decoder(code), code

    hidden = noise(torch, 24, 2).double()
    x = torch.tanh(hidden @ noise(torch, 2, 6, seed=3).double() * 2)
    model = settle(torch, AutoEncoder()).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(30):
        rebuilt, code = model(x)
        loss = nn.functional.mse_loss(rebuilt, x) + 1e-3 * code.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": torch.tensor(losses, dtype=torch.float64)[::5], "codes": model(x)[1][:4]}
