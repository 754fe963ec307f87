#!/usr/bin/env python3
"""Makes training.safetensors: a small network trained by PyTorch, from given weights, with every loss on the way.

tests/golden/training_test.cpp trains the same network from the same weights and must see the same losses.
Run it with a Python that has PyTorch 2.11 and safetensors' format is written by hand: 8 bytes, a header, the data.
"""
import json
import pathlib
import struct

import torch
import torch.nn.functional as F

torch.manual_seed(20)
torch.set_default_dtype(torch.float64)
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3, padding=1),
    torch.nn.BatchNorm2d(4),
    torch.nn.GELU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(64, 16),
    torch.nn.LayerNorm(16),
    torch.nn.Tanh(),
    torch.nn.Linear(16, 5),
)
tensors = {name: t.clone() for name, t in net.state_dict().items()}
x, y = torch.randn(32, 1, 8, 8), torch.randint(0, 5, (32,))
tensors["x"], tensors["y"] = x, y
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.1)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
losses = []
for _ in range(40):
    loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
tensors["losses"] = torch.tensor(losses)
for name, t in net.state_dict().items():
    tensors["after." + name] = t.clone()

header, data = {}, b""
for name, t in tensors.items():
    raw = t.detach().contiguous().numpy().tobytes()
    kind = {torch.float64: "F64", torch.int64: "I64"}[t.dtype]
    header[name] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
path = pathlib.Path(__file__).with_name("training.safetensors")
path.write_bytes(struct.pack("<Q", len(text)) + text + data)
print(path, len(data), "bytes; first loss", losses[0], "last", losses[-1])
