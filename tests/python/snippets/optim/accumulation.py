"""Gradients of small batches added up equal that of the large batch."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    x, y = noise(torch, 12, 5).double(), torch.arange(12) % 3

    def train(size):
        net = settle(torch, nn.Linear(5, 3)).double()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            for a, b in zip(x.split(size), y.split(size)):
                (nn.functional.cross_entropy(net(a), b) * len(a) / len(x)).backward()
            optimizer.step()
        return net

    whole, parts = train(12), train(4)
    return {"whole": whole.weight, "same": torch.allclose(whole.weight, parts.weight), "bias": parts.bias}
