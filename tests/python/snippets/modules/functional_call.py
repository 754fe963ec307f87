"""The net as a function of its parameters: a step inside a step, as in meta-learning."""

from fixed import noise, settle


def run(torch):
    functional_call = torch.func.functional_call

    nn, F = torch.nn, torch.nn.functional
    net = settle(torch, nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))).double()
    support, query = noise(torch, 5, 2, seed=1).double(), noise(torch, 5, 2, seed=2).double()

    def teach(x):
        return x[:, :1] * x[:, 1:]

    params = dict(net.named_parameters())
    inner = F.mse_loss(functional_call(net, params, (support,)), teach(support))
    gradients = torch.autograd.grad(inner, params.values(), create_graph=True)
    fast = {name: p - 0.1 * g for (name, p), g in zip(params.items(), gradients)}
    outer = F.mse_loss(functional_call(net, fast, (query,)), teach(query))
    outer.backward()
    return {
        "inner": inner,
        "outer": outer,
        "meta": {name.replace(".", "_"): p.grad for name, p in net.named_parameters()},
        "unchanged": torch.equal(functional_call(net, params, (query,)), net(query)),
    }
