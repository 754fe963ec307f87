"""Distributions as users call them: densities, statistics, divergences, transforms, supports, gradients."""

import math

from program_helpers import raised, values


def normal(torch):
    d = torch.distributions.Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
    x = torch.tensor([0.5, -1.0])
    return (
        d.log_prob(x),
        d.cdf(x),
        d.icdf(torch.tensor([0.5, 0.9])),
        d.entropy(),
        d.mean,
        d.variance,
        d.stddev,
        d.mode,
        d.batch_shape,
    )


def policy_gradient(torch):
    logits = values(torch, 4, 3).requires_grad_()
    d = torch.distributions.Categorical(logits=logits)
    actions, reward = torch.tensor([0, 2, 1, 1]), torch.tensor([1.0, -1.0, 0.5, 2.0])
    loss = -(d.log_prob(actions) * reward).mean() - 0.01 * d.entropy().mean()
    loss.backward()
    return loss.detach(), logits.grad, d.probs.detach().sum(-1), d.param_shape


def categorical_from_probs(torch):
    d = torch.distributions.Categorical(probs=torch.tensor([1.0, 2.0, 1.0]))
    support = d.enumerate_support()
    return (
        d.probs,
        d.logits,
        support,
        d.log_prob(support).exp(),
        d.entropy(),
        d.mode,
        raised(lambda: d.log_prob(torch.tensor(3)), ValueError),
    )


def coin_flips(torch):
    d = torch.distributions.Bernoulli(probs=torch.tensor([0.1, 0.5, 0.9]))
    same = torch.distributions.Bernoulli(logits=d.logits)
    x = torch.tensor([0.0, 1.0, 1.0])
    return (
        d.log_prob(x),
        same.probs,
        d.mean,
        d.variance,
        d.entropy(),
        d.enumerate_support(expand=False),
        raised(lambda: d.log_prob(x + 0.5), ValueError),
    )


def divergences(torch):
    D, kl = torch.distributions, torch.distributions.kl_divergence
    p, q = D.Normal(0.0, 1.0), D.Normal(torch.tensor([1.0, 0.0]), torch.tensor([2.0, 1.0]))
    a, b = D.Categorical(logits=torch.tensor([0.1, 0.2, 0.7])), D.Categorical(logits=torch.zeros(3))
    return {
        "normal": kl(p, q),
        "categorical": kl(a, b),
        "gamma": kl(D.Gamma(2.0, 1.0), D.Gamma(3.0, 0.5)),
        "beta": kl(D.Beta(2.0, 3.0), D.Beta(1.0, 1.0)),
        "bernoulli": kl(D.Bernoulli(0.2), D.Bernoulli(0.7)),
        "dirichlet": kl(D.Dirichlet(torch.tensor([1.0, 2.0])), D.Dirichlet(torch.ones(2))),
        "uniform": kl(D.Uniform(0.0, 1.0), D.Uniform(-1.0, 2.0)),
        "outside": kl(D.Uniform(0.0, 3.0), D.Uniform(0.0, 2.0)),
        "none": raised(lambda: kl(p, a), NotImplementedError),
    }


def multivariate(torch):
    a = values(torch, 3, 3)
    covariance = a @ a.T + torch.eye(3, dtype=a.dtype)
    d = torch.distributions.MultivariateNormal(torch.zeros(3, dtype=a.dtype), covariance)
    same = torch.distributions.MultivariateNormal(d.loc, scale_tril=d.scale_tril)
    x = values(torch, 2, 3)
    return d.log_prob(x), same.log_prob(x), d.entropy(), d.precision_matrix, d.variance, d.event_shape, d.batch_shape


def mixture(torch):
    D = torch.distributions
    parts = D.Normal(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([0.5, 1.0, 0.3]))
    m = D.MixtureSameFamily(D.Categorical(torch.tensor([0.2, 0.5, 0.3])), parts)
    return m.log_prob(torch.tensor([0.0, 2.0])), m.mean, m.variance, m.cdf(torch.tensor(0.0)), m.batch_shape


def independent(torch):
    D = torch.distributions
    base = D.Normal(torch.zeros(4, 3), torch.ones(4, 3))
    d = D.Independent(base, 1)
    x = values(torch, 4, 3).float()
    return (
        d.log_prob(x),
        base.log_prob(x).sum(-1),
        d.batch_shape,
        d.event_shape,
        repr(d),
        d.entropy(),
        d.expand((2, 4)).batch_shape,
    )


def log_normal_by_transform(torch):
    D = torch.distributions
    made = D.TransformedDistribution(D.Normal(0.5, 0.8), [D.transforms.ExpTransform()])
    x = torch.tensor([0.5, 1.0, 3.0])
    return (
        made.log_prob(x),
        D.LogNormal(0.5, 0.8).log_prob(x),
        made.cdf(x),
        D.LogNormal(0.5, 0.8).mean,
        made.icdf(torch.tensor(0.5)),
    )


def squashed(torch):
    D = torch.distributions
    d = D.TransformedDistribution(
        D.Normal(torch.zeros(2), torch.ones(2)), [D.TanhTransform(cache_size=1), D.AffineTransform(1.0, 2.0)]
    )
    x = torch.tensor([0.0, 2.5])
    chain = D.ComposeTransform([D.SigmoidTransform(), D.PowerTransform(torch.tensor(2.0))])
    y = chain(x)
    return d.log_prob(x), y, chain.inv(y), chain.log_abs_det_jacobian(x, y), d.support.check(x)


def stick_breaking(torch):
    t = torch.distributions.StickBreakingTransform()
    x = torch.tensor([0.3, -0.2])
    y = t(x)
    return y, y.sum(), t.inv(y), t.log_abs_det_jacobian(x, y), t.forward_shape((2,)), t.inverse_shape((3,))


def supports(torch):
    D = torch.distributions
    c = D.constraints
    x = torch.tensor([-1.0, 0.0, 0.5, 2.0])
    made = [
        c.positive,
        c.unit_interval,
        c.nonnegative,
        c.real,
        c.interval(-1, 1),
        c.boolean,
        c.integer_interval(0, 2),
        c.greater_than(0),
    ]
    return (
        [m.check(x) for m in made],
        [str(m) for m in made],
        str(D.Beta(1.0, 1.0).support),
        D.biject_to(c.positive)(x),
        D.transform_to(c.unit_interval)(x),
    )


def bad_parameters(torch):
    D = torch.distributions
    return {
        "scale": raised(lambda: D.Normal(0.0, -1.0), ValueError),
        "probs": raised(lambda: D.Bernoulli(1.5), ValueError),
        "both": raised(lambda: D.Bernoulli(probs=0.5, logits=0.0), ValueError),
        "neither": raised(lambda: D.Categorical(), ValueError),
        "nan": raised(lambda: D.Normal(float("nan"), 1.0), ValueError),
        "support": raised(lambda: D.Exponential(1.0).log_prob(torch.tensor(-1.0)), ValueError),
        "unchecked": D.Normal(0.0, -1.0, validate_args=False).scale,
        "simplex": raised(lambda: D.Dirichlet(torch.tensor([1.0, 1.0])).log_prob(torch.tensor([0.5, 0.6])), ValueError),
        "shape": raised(lambda: D.Normal(torch.zeros(2), torch.ones(3))),
    }


def continuous_families(torch):
    D = torch.distributions
    x = torch.tensor([0.2, 0.7])
    made = [
        *(D.Gamma(2.0, 3.0), D.Beta(2.0, 3.0), D.Exponential(1.5), D.Laplace(0.0, 1.0), D.Cauchy(0.0, 1.0)),
        *(D.StudentT(3.0), D.Gumbel(0.0, 1.0), D.HalfNormal(1.0), D.HalfCauchy(1.0), D.Weibull(1.0, 2.0)),
        *(D.Pareto(0.1, 2.0), D.Chi2(3.0), D.Kumaraswamy(2.0, 3.0), D.VonMises(0.0, 1.0), D.Uniform(0.0, 1.0)),
        *(D.FisherSnedecor(3.0, 4.0), D.InverseGamma(2.0, 1.0), D.ContinuousBernoulli(0.3)),
    ]
    return [d.log_prob(x) for d in made], [d.mean for d in made], [d.variance for d in made]


def discrete_families(torch):
    D = torch.distributions
    k = torch.tensor([0.0, 1.0, 2.0])
    made = [D.Poisson(1.5), D.Geometric(0.3), D.Binomial(3, 0.4), D.NegativeBinomial(2.0, 0.4)]
    multinomial = D.Multinomial(3, torch.tensor([0.2, 0.3, 0.5]))
    return (
        [d.log_prob(k) for d in made],
        [d.mean for d in made],
        [d.variance for d in made],
        multinomial.log_prob(torch.tensor([1.0, 1, 1])),
        multinomial.mean,
    )


def evidence_lower_bound(torch):
    D = torch.distributions
    mean, log_scale = values(torch, 3).requires_grad_(), (values(torch, 3) * 0.1).requires_grad_()
    q, p = D.Normal(mean, log_scale.exp()), D.Normal(torch.zeros(3, dtype=mean.dtype), torch.ones(3, dtype=mean.dtype))
    noise = torch.tensor([0.3, -0.5, 1.1], dtype=mean.dtype)
    z = q.mean + q.stddev * noise
    bound = (p.log_prob(z) - q.log_prob(z)).sum() - D.kl_divergence(q, p).sum()
    bound.backward()
    return bound.detach(), mean.grad, log_scale.grad


def sample_shapes(torch):
    D = torch.distributions
    torch.manual_seed(0)
    d = D.Normal(torch.zeros(2, 3, requires_grad=True), 1.0)
    made = [
        d.sample(),
        d.rsample((4,)),
        d.sample((2, 1)),
        D.Categorical(torch.ones(5, 3)).sample((2,)),
        D.Dirichlet(torch.ones(3)).sample(),
    ]
    one = D.OneHotCategorical(torch.ones(2, 3)).sample()
    return (
        [m.shape for m in made],
        [m.requires_grad for m in made],
        one.sum(-1),
        str(made[3].dtype),
        D.Bernoulli(0.5).has_rsample,
        d.has_rsample,
    )


def printed(torch):
    D = torch.distributions
    made = [
        D.Normal(0.0, 1.0),
        D.Normal(torch.zeros(2), torch.ones(2)),
        D.Categorical(torch.ones(3)),
        D.Gamma(1.0, 2.0),
        D.Bernoulli(0.5),
        D.Uniform(0.0, 1.0),
    ]
    return [repr(d) for d in made], [repr(t) for t in (D.ExpTransform(), D.AffineTransform(0.0, 1.0))]


def relaxed(torch):
    D = torch.distributions
    t = torch.tensor(0.5)
    a, b = D.RelaxedBernoulli(t, probs=torch.tensor(0.3)), D.RelaxedOneHotCategorical(t, probs=torch.tensor([0.2, 0.8]))
    return (
        a.log_prob(torch.tensor(0.4)),
        b.log_prob(torch.tensor([0.3, 0.7])),
        a.temperature,
        math.isclose(b.probs.sum().item(), 1, rel_tol=1e-6),
    )


def gradients_of_densities(torch):
    D = torch.distributions
    x = torch.tensor([0.3, 0.6], dtype=torch.float64, requires_grad=True)
    made = {}
    for name, args in {
        "Gamma": (2.0, 3.0),
        "Beta": (2.0, 3.0),
        "StudentT": (4.0,),
        "Laplace": (0.4, 1.0),
        "Weibull": (1.0, 2.0),
    }.items():
        parameters = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in args]
        made[name] = torch.autograd.grad(getattr(D, name)(*parameters).log_prob(x).sum(), [x, *parameters])
    return made
