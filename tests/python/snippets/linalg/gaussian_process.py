"""Regression by a Gaussian process: kernel, Cholesky factor, mean, variance, evidence and its gradient."""


def run(torch):
    torch.set_default_dtype(torch.float64)
    x, z = torch.linspace(0, 3, 7)[:, None], torch.tensor([[0.25], [1.4], [4.0]])
    y = torch.sin(2 * x[:, 0])
    log_scale = torch.tensor(0.1, requires_grad=True)

    def kernel(a, b):
        return torch.exp(-0.5 * torch.cdist(a, b).square() / log_scale.exp() ** 2)

    K = kernel(x, x) + 1e-2 * torch.eye(7)
    L = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(y[:, None], L)
    evidence = -0.5 * y @ alpha[:, 0] - L.diagonal().log().sum() - 3.5 * torch.log(torch.tensor(2 * torch.pi))
    (slope,) = torch.autograd.grad(evidence, log_scale)
    v = torch.linalg.solve_triangular(L, kernel(x, z), upper=False)
    return {
        "mean": kernel(z, x) @ alpha,
        "variance": 1 - v.square().sum(0),
        "evidence": evidence,
        "slope": slope,
        "logdet": torch.logdet(K) - torch.linalg.slogdet(K).logabsdet,
    }
