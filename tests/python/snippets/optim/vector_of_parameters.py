"""All parameters as one vector and back; the norm of an update; interpolating between two nets."""

from fixed import noise, settle


def run(torch):
    parameters_to_vector = torch.nn.utils.parameters_to_vector
    vector_to_parameters = torch.nn.utils.vector_to_parameters

    nn = torch.nn
    a, b = settle(torch, nn.Linear(3, 2)), settle(torch, nn.Linear(3, 2), seed=5)
    va, vb = parameters_to_vector(a.parameters()).detach(), parameters_to_vector(b.parameters()).detach()
    middle = nn.Linear(3, 2)
    x = noise(torch, 4, 3, seed=9)
    losses = []
    for t in torch.linspace(0, 1, 5):
        vector_to_parameters((1 - t) * va + t * vb, middle.parameters())
        losses.append(middle(x).pow(2).mean().detach())
    return {
        "vector": va,
        "losses": torch.stack(losses),
        "distance": (va - vb).norm(),
        "end": torch.equal(middle.weight, b.weight),
    }
