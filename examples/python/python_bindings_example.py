"""From NumPy to a trained network and back: arrays become tensors that share their memory, a small network learns from
them, and its answers are an array again.

pip install . (or: pip wheel . for a wheel), then
python examples/python/python_bindings_example.py
"""

import neura
import numpy as np
from example import options
from neura import nn

args = options(__doc__)

# %% NumPy data: two moons, which no line separates
rng = np.random.default_rng(0)
angle, kind = rng.uniform(0, np.pi, 400), rng.integers(0, 2, 400)
points = np.stack([np.cos(angle) + kind, np.where(kind == 1, 0.3 - np.sin(angle), np.sin(angle))], axis=1)
points += rng.normal(0, 0.12, points.shape)

# %% The same memory as tensors; .float() and .to(device) copy where they have to
x = neura.from_numpy(points)
assert x.dtype == neura.float64 and x.data_ptr() == points.ctypes.data
x, y = x.float().to(args.device), neura.from_numpy(kind).to(args.device)

# %% A network, an optimizer, a loop
neura.manual_seed(1)
model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2)).to(args.device)
print(model)
optimizer = neura.optim.AdamW(model.parameters(), lr=0.01)
losses = []
for step in range(100 if args.quick else 400):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 20 == 0:
        print(f"step {step:3}  loss {losses[-1]:.4f}")
assert losses[-1] < losses[0] / 4, "the loss falls"

# %% Back to NumPy, also by NumPy's own functions, which take tensors
with neura.no_grad():
    shares = model(x).softmax(dim=1).cpu().numpy()
right = (shares.argmax(axis=1) == kind).mean()
print(f"{right:.1%} right; mean share of the chosen class {np.mean(shares.max(axis=1)):.3f}")
assert isinstance(shares, np.ndarray) and right > 0.95
