"""An operation with a derivative of its own, a layer that uses it, and a network of both with layers from C++.

python examples/python/write_a_layer_and_an_operation.py
"""

import neura
from neura import nn


# %% An operation: the value in forward, the derivative in backward
class Squash(neura.autograd.Function):
    """x / (1 + |x|), which saves only its result: with y, 1 / (1 + |x|) is 1 - |y|."""

    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x.abs())
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (1 - y.abs()) ** 2


# %% Finite differences say whether the derivative is right, and the derivative of the derivative
x = neura.tensor([0.5, -2.0, 3.0], dtype=neura.float64, requires_grad=True)
assert neura.autograd.gradcheck(Squash.apply, x) and neura.autograd.gradgradcheck(Squash.apply, x)


# %% A layer: parameters are attributes; forward computes
class Gated(nn.Module):
    """squash(x W) * sigmoid(x V) [.., in_features] -> [.., out_features]"""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.value = nn.Linear(in_features, out_features)
        self.gate = nn.Linear(in_features, out_features, bias=False)
        self.scale = nn.Parameter(neura.ones(out_features))

    def forward(self, x):
        return Squash.apply(self.value(x)) * self.gate(x).sigmoid() * self.scale

    def extra_repr(self):
        return "squash"


# %% It stands between layers that C++ defines, and everything knows its parameters
neura.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), Gated(32, 32), nn.Linear(32, 1))
print(net)
print(sum(p.numel() for p in net.parameters()), "parameters:", *dict(net.named_parameters()))

# %% Trained to tell whether two numbers have the same sign
points = neura.randn(1000, 2)
same_sign = (points.prod(dim=1, keepdim=True) > 0).float()
optimizer = neura.optim.Adam(net.parameters(), lr=0.01)
for step in range(150):
    loss = nn.functional.binary_cross_entropy_with_logits(net(points), same_sign)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
right = ((net(points) > 0).float() == same_sign).float().mean().item()
print(f"loss {loss.item():.3f}, {right:.1%} right")
assert right > 0.9

# %% A hook looks at gradients on their way; a checkpoint trades time for memory
seen = []
handle = net[2].scale.register_hook(lambda grad: seen.append(grad.norm().item()))
hidden = neura.utils.checkpoint.checkpoint(net, points, use_reentrant=False)
nn.functional.binary_cross_entropy_with_logits(hidden, same_sign).backward()
handle.remove()
print(f"the gradient of scale has the norm {seen[0]:.4f}")
