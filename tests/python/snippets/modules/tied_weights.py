"""Input and output embedding share one parameter: counted once, gradients added, saved twice."""

from fixed import noise


def run(torch):
    nn = torch.nn

    class Tied(nn.Module):
        def __init__(self, words, width):
            super().__init__()
            self.embed = nn.Embedding(words, width)
            self.out = nn.Linear(width, words, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, ids):
            return self.out(self.embed(ids).mean(1))

    net = Tied(6, 3)
    with torch.no_grad():
        net.embed.weight.copy_(noise(torch, 6, 3))
    ids = torch.tensor([[0, 1], [2, 2], [5, 3]])
    nn.functional.cross_entropy(net(ids), torch.tensor([1, 0, 4])).backward()
    return {
        "gradient": net.embed.weight.grad,
        "same": net.out.weight is net.embed.weight,
        "names": [name for name, _ in net.named_parameters()],
        "all_names": [name for name, _ in net.named_parameters(remove_duplicate=False)],
        "keys": list(net.state_dict()),
        "after_to": net.double().out.weight is net.embed.weight,
    }
