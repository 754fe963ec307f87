"""The two terms of a variational autoencoder with fixed noise, and their gradients."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    mu, log_var = (
        noise(torch, 4, 2, seed=1).double().requires_grad_(),
        noise(torch, 4, 2, seed=2).double().requires_grad_(),
    )
    eps = noise(torch, 4, 2, seed=3).double()
    decode = noise(torch, 2, 6, seed=4).double()
    x = noise(torch, 4, 6, seed=5).double().sigmoid()
    z = mu + (0.5 * log_var).exp() * eps
    rebuilt = torch.sigmoid(z @ decode)
    reconstruction = F.binary_cross_entropy(rebuilt, x, reduction="sum") / 4
    kl = -0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).sum(1).mean()
    (reconstruction + 0.5 * kl).backward()
    return {"reconstruction": reconstruction, "kl": kl, "mu": mu.grad, "log_var": log_var.grad, "z": z}
