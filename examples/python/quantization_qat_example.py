"""With few bits, a network should learn what rounding will do to it. Weights of 2 bits, chosen for a trained network
that knows nothing of it, cost accuracy; trained a little more with the rounding in place, it gets back most of it.

python examples/python/quantization_qat_example.py [--device cuda]
"""

import copy
import time

import neura
from example import options
from neura import nn, quantization

args = options(__doc__)


# %% A task: which of ten patterns is in a noisy picture?
neura.manual_seed(0)
patterns = neura.rand(10, 1, 12, 12)


def make(count):
    kind = neura.randint(0, 10, (count,))
    return (patterns[kind] + 0.7 * neura.randn(count, 1, 12, 12)).to(args.device), kind.to(args.device)


def train(net, steps, rate):
    optimizer = neura.optim.Adam(net.parameters(), lr=rate)
    for _ in range(steps):
        x, kind = make(64)
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), kind).backward()
        optimizer.step()


net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(16 * 36, 10),
).to(args.device)
steps = 300 if args.quick else 600
train(net, steps, 3e-3)
net.eval()
test_x, test_y = make(2000)


def show(what, model):
    model.eval()
    with neura.no_grad():
        start = time.perf_counter()
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        taken = time.perf_counter() - start
    print(f"{what:36} accuracy {accuracy:6.1%}   {taken * 1e3:6.1f} ms for {len(test_x)} pictures")
    return accuracy


show("float32", net)

# %% Rounded afterwards: the ranges are measured, and that is all.
bits = 2
prepared = quantization.prepare(net, quantization.get_default_qconfig(weight_bits=bits))
with neura.no_grad():
    prepared(make(256)[0])
afterwards = show(f"weights of {bits} bits, afterwards", quantization.convert(prepared))

# %% Trained with it: weights and inputs are rounded in each step, gradients pass as if they were not. In the end the
# ranges and the statistics of the normalisations stand still.
trained = quantization.prepare_qat(copy.deepcopy(net).train(), quantization.get_default_qat_qconfig(weight_bits=bits))
train(trained, steps, 1e-3)
trained.apply(quantization.disable_observer)
trained.apply(quantization.freeze_bn_stats)
train(trained, steps // 4, 3e-4)
fake = show(f"weights of {bits} bits, while training", trained)
quantized = quantization.convert(trained)
learnt = show("the same, converted to integers", quantized)
print(quantized[0])
assert learnt >= afterwards and abs(learnt - fake) < 0.01
