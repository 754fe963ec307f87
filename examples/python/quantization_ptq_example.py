"""A trained network computes with bytes: its layers' ranges are measured on some pictures, and its weights and what
goes into each layer become integers of 8 bits. It is a quarter as large, answers alike, and faster where the processor
multiplies bytes.

python examples/python/quantization_ptq_example.py [--device cuda]
"""

import time

import neura
from example import options
from neura import nn, quantization

args = options(__doc__)


# %% A task: which of ten patterns is in a noisy picture of 16 x 16?
neura.manual_seed(0)
patterns = neura.rand(10, 3, 16, 16)


def make(count):
    kind = neura.randint(0, 10, (count,))
    return (patterns[kind] + 0.5 * neura.randn(count, 3, 16, 16)).to(args.device), kind.to(args.device)


width = 32 if args.quick else 64
net = nn.Sequential(
    nn.Conv2d(3, width, 3, padding=1),
    nn.BatchNorm2d(width),
    nn.ReLU(),
    nn.Conv2d(width, width, 3, padding=1),
    nn.BatchNorm2d(width),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(width, width, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(width * 16, 256),
    nn.ReLU(),
    nn.Linear(256, 10),
).to(args.device)
optimizer = neura.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(40 if args.quick else 80):
    x, kind = make(64)
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), kind).backward()
    optimizer.step()
net.eval()

# %% Observers look at what goes into each layer, while the network computes as before. The normalisations are gone:
# they are in the weights.
prepared = quantization.prepare(net)
with neura.no_grad():
    for _ in range(4):
        prepared(make(64)[0])
quantized = quantization.convert(prepared)
print(quantized[0])

# %% The same network, three times. Weights alone need no pictures, and save memory alone.
small = quantization.quantize_weights(net, bits=4)
test_x, test_y = make(500 if args.quick else 2000)


def show(what, model):
    with neura.no_grad():
        answers = neura.cat([model(part).argmax(1) for part in test_x.split(250)])
        times = []
        for _ in range(3 if args.quick else 8):
            start = time.perf_counter()
            float(model(test_x[:64]).sum())
            times.append(time.perf_counter() - start)
    accuracy = (answers == test_y).float().mean().item()
    size = sum(t.nbytes for t in model.state_dict().values())
    print(f"{what:28} accuracy {accuracy:6.1%}   {size / 1000:7.1f} kB   {min(times) * 1e3:6.1f} ms for 64 pictures")
    return accuracy, size, answers


accuracy, size, answers = show("float32", net)
now, bytes_now, answers_now = show("int8", quantized)
show("4 bits in Linear layers", small)
alike = (answers == answers_now).float().mean().item()
print(f"{alike:.1%} of the answers are alike")
assert now > accuracy - 0.02 and bytes_now < 0.3 * size and alike > 0.95
