"""One computation in three ways: call by call; as a compiled function, whose pointwise calls go over memory once; and
as a program that was traced, made smaller and run again. All give the same values; how long each takes is printed.

python examples/python/graph_compilation.py [--device cuda]
"""

import neura
from example import options
from neura import nn
from neura.utils.benchmark import Timer

args = options(__doc__)
neura.manual_seed(0)


def milliseconds(function, *inputs):
    timer = Timer("f(*inputs)", globals={"f": function, "inputs": inputs})
    return 1e3 * timer.blocked_autorange(min_run_time=0.05 if args.quick else 0.5).median


# %% Six pointwise operations on large tensors: memory is what they wait for
def f(a, b, c):
    return nn.functional.gelu(a * b + c) * neura.sigmoid(c) - a


compiled = neura.compile(f)
a, b, c = (neura.randn(1 << (18 if args.quick else 22), device=args.device) for _ in range(3))
neura.graph.explain(reset=True)
assert neura.equal(compiled(a, b, c), f(a, b, c)), "the same bits"
print(neura.graph.explain())
print(f"one by one {milliseconds(f, a, b, c):.2f} ms, compiled {milliseconds(compiled, a, b, c):.2f} ms")

# %% A network for inference
net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 64, 10),
).to(args.device).eval()  # fmt: skip
images = neura.randn(8, 3, 16, 16, device=args.device)
with neura.no_grad():
    program = neura.graph.trace(net, images)
    small = program.optimized()
    print(f"{len(program.nodes)} calls traced, {len(small.nodes)} are left; the first lines of the program:")
    print("\n".join(str(small).splitlines()[:4]))
    assert neura.allclose(small(images), net(images), atol=1e-6)
    print(f"network {milliseconds(net, images):.3f} ms, program {milliseconds(small, images):.3f} ms")

# %% A whole training step, backward and optimizer included, is a program, too
optimizer = neura.optim.AdamW(net.parameters(), lr=1e-3)
labels = neura.randint(0, 10, (8,), device=args.device)


def step(images, labels):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


training = neura.graph.trace(step, images, labels)
losses = [training(images, labels).item() for _ in range(10)]
print(f"ten steps of a program of {len(training.nodes)} calls: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
assert losses[-1] < losses[0]
