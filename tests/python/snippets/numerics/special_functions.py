"""Special functions where they are used: Gaussian and Student tails, Poisson, von Mises, entropy."""


def run(torch):
    torch.set_default_dtype(torch.float64)
    x = torch.tensor([0.1, 0.7, 1.5, 3.0])
    s = torch.special
    return {
        "gaussian": 0.5 * torch.erfc(-x / 2**0.5) - s.ndtr(x),
        "quantile": s.ndtri(torch.tensor([0.05, 0.5, 0.99])),
        "log_ndtr": s.log_ndtr(-10 * x),
        "poisson": x * torch.log(x) - x - torch.lgamma(x + 1),
        "digamma": torch.digamma(x),
        "polygamma": torch.polygamma(1, x),
        "bessel": torch.stack([s.i0(x), s.i1e(x), s.bessel_j0(x)]),
        "entropy": s.entr(x / x.sum()).sum(),
        "xlogy": torch.xlogy(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 2.0])),
        "gammainc": s.gammainc(x, x + 1),
        "zeta": s.zeta(x + 1, torch.ones(4)),
        "erfinv": torch.erfinv(x / 4),
        "sinc": torch.sinc(x),
        "expm1": s.expm1(1e-9 * x),
        "logit": s.logit(x / 4),
        "multigamma": s.multigammaln(x + 3, 2),
    }
