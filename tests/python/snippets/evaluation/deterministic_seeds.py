"""Seeds make draws repeatable; shapes, ranges and moments of the random functions."""


def run(torch):
    torch.manual_seed(7)
    a = torch.randn(1000)
    torch.manual_seed(7)
    b = torch.randn(1000)
    state = torch.get_rng_state()
    c = torch.rand(5)
    torch.set_rng_state(state)
    d = torch.rand(5)
    g1, g2 = torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)
    integers = torch.randint(3, 9, (500,))
    coins = torch.bernoulli(torch.full((1000,), 0.3))
    picks = torch.multinomial(torch.tensor([0.0, 0.2, 0.8]), 100, replacement=True)
    return {
        "repeatable": [torch.equal(a, b), torch.equal(c, d)],
        "generators": torch.equal(torch.randn(3, generator=g1), torch.randn(3, generator=g2)),
        "moments": [abs(a.mean().item()) < 0.15, abs(a.std().item() - 1) < 0.1],
        "integers": [integers.min().item(), integers.max().item(), str(integers.dtype)],
        "coins": 0.2 < coins.mean().item() < 0.4,
        "picks": picks.unique(),
        "normal": list(torch.normal(mean=torch.zeros(3), std=torch.ones(3)).shape),
        "in_place": [0 <= torch.empty(9).uniform_(0, 2).max().item() < 2, list(torch.empty(2, 3).normal_(1, 2).shape)],
        "like": str(torch.rand_like(torch.zeros(2, dtype=torch.float64)).dtype),
        "permutation": torch.randperm(5).sum(),
    }
