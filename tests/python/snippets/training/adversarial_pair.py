"""Generator and discriminator with two optimizers; fixed latent values; detach where it belongs."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    generator = settle(torch, nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))).double()
    critic = settle(torch, nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)), seed=5).double()
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01, betas=(0.5, 0.999))
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01, betas=(0.5, 0.999))
    real = noise(torch, 16, 2).double() * 0.2 + torch.tensor([1.0, -1.0], dtype=torch.float64)
    ones, zeros = torch.ones(16, 1, dtype=torch.float64), torch.zeros(16, 1, dtype=torch.float64)
    history = []
    for step in range(12):
        fake = generator(noise(torch, 16, 2, seed=step).double())
        d_loss = F.binary_cross_entropy_with_logits(critic(real), ones)
        d_loss = d_loss + F.binary_cross_entropy_with_logits(critic(fake.detach()), zeros)
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
        g_loss = F.binary_cross_entropy_with_logits(critic(fake), ones)
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        history.append(torch.stack([d_loss, g_loss]).detach())
    return {"history": torch.stack(history), "mean": fake.mean(0), "critic": critic(real[:3])}
