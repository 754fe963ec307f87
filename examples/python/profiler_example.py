"""Where does the time of a training step go? Every operation is counted and timed, forward and backward, module by
module; the table is printed, and a trace is written for Perfetto, chrome://tracing or TensorBoard.

python examples/python/profiler_example.py [--trace trace.json]
"""

import json
import pathlib
import tempfile

import neura
from example import options
from neura import nn
from neura.profiler import ProfilerActivity, profile, record_function, schedule

args = options(__doc__, trace="")
neura.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 64, 10)
).to(args.device)  # fmt: skip
optimizer = neura.optim.AdamW(net.parameters())
x = neura.randn(32, 3, 16, 16, device=args.device)
y = neura.randint(0, 10, (32,), device=args.device)


def step():
    optimizer.zero_grad()
    with record_function("forward and loss"):
        loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()


# %% One step after another; the first two are not recorded, so that memory and states are there
activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (args.device.type == "cuda")
steps = 3 if args.quick else 20
with profile(
    activities=activities,
    schedule=schedule(wait=1, warmup=1, active=steps),
    record_shapes=True,
    profile_memory=True,
    with_modules=True,
) as p:
    for _ in range(steps + 2):
        step()
        p.step()

# %% The table, the dearest first
totals = p.key_averages()
print(totals.table(sort_by="self_cpu_time_total", row_limit=12, max_name_column_width=32))
counts = {row.key: row.count for row in totals}
for name in ("convolution", "relu", "max_pool", "linear", "cross_entropy"):
    assert counts[name] >= steps, f"{name} is in the table, as often as it ran"
assert counts["forward and loss"] == steps

# %% The same in the order of time
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(args.trace or pathlib.Path(folder) / "trace.json")
    p.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    print(f"{path.name}: {len(events)} events, {path.stat().st_size} bytes")
    assert len(events) > 10 * steps
