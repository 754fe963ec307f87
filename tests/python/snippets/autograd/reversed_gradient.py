"""The gradient reversal layer of domain adaptation as a Function inside a Module."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -ctx.strength * grad, None

    class Domain(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Linear(3, 4)
            self.domain = nn.Linear(4, 1)

        def forward(self, x):
            return self.domain(Reverse.apply(self.features(x).relu(), 0.5))

    net = settle(torch, Domain())
    x = noise(torch, 6, 3)
    nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), torch.tensor([0.0, 1, 0, 1, 1, 0])).backward()
    return {name: p.grad for name, p in net.named_parameters()}
