"""A training loop that says of everything where it is. The same program runs on "cpu", "cuda" and "cuda:1": the
device is a value, and nothing below depends on which one it is.

python examples/python/training_on_a_device.py [--device cuda:0]
"""

import neura
from example import options
from neura import nn
from neura.utils.data import DataLoader, TensorDataset

args = options(__doc__)
# A device that is not there is an error that says why, before anything is made. "cuda" is the current one.
device = neura.zeros(1, device=args.device).device
print("training on", device)

# %% 1. The data begin on the host, where files are read. Only batches go to the device.
neura.manual_seed(0)
x = neura.randn(512, 8)
loader = DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=64, shuffle=True)

# %% 2. A model moves in place: its parameters and buffers are the same objects, elsewhere
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
weight = model[0].weight
model.to(device)
assert model[0].weight is weight and weight.device == device
assert all(t.device == device for t in [*model.parameters(), *model.buffers()])
optimizer = neura.optim.Adam(model.parameters(), lr=0.01)

losses = []
for epoch in range(6 if args.quick else 20):
    for batch_x, batch_y in loader:
        # %% 3. to() copies, unless the tensor is there already; then it is the tensor itself
        batch_x, batch_y = batch_x.to(device), batch_y.to(device)
        # %% 4. Operations run where their operands are; two devices in one operation are an error
        loss = nn.functional.cross_entropy(model(batch_x), batch_y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert {batch_x.device, batch_y.device, loss.device} == {device}
        assert all(p.grad.device == device for p in model.parameters())
        # %% 5. item() brings one number to the host, and waits for the device until it is there
        losses.append(loss.item())
    print(f"epoch {epoch + 1:2}  loss {losses[-1]:.3f}")
assert all(s["exp_avg"].device == device for s in optimizer.state.values()), "what an optimizer keeps is there, too"
assert losses[-1] < losses[0] / 2

# %% 6. Results come back the same way
model.eval()
with neura.no_grad():
    guesses = model(x.to(device)).argmax(1).cpu()
print(f"{(guesses == x[:, :3].argmax(1)).float().mean().item():.1%} right")
assert guesses.device == neura.device("cpu")
