"""Trains one convolutional network in float32, bfloat16 and float16, and prints time, memory and accuracy of each.

python examples/python/mixed_precision.py [--device cuda] [--images N] [--steps N] [--quick]

The images are made up: blobs of ten kinds in noise. On CUDA the memory is the device's peak; on the cpu it is what
autograd keeps for backward, which is where halves save most.
"""

import time

import neura
import neura.nn.functional as F
from example import options
from neura import nn


def make_images(count, device):
    neura.manual_seed(1)
    labels = neura.randint(0, 10, (count,))
    y = x = neura.linspace(-1, 1, 28)
    angle = labels.float().reshape(-1, 1, 1) * 0.6283
    blob = (-((x - 0.5 * angle.cos()) ** 2 + (y.reshape(-1, 1) - 0.5 * angle.sin()) ** 2) * 6).exp()
    images = blob.unsqueeze(1) + 0.3 * neura.randn(count, 1, 28, 28)
    return images.to(device), labels.to(device)


def make_network(device):
    neura.manual_seed(2)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 10),
    ).to(device)


class Kept:
    """Counts the bytes that autograd keeps."""

    def __init__(self):
        self.bytes = 0

    def pack(self, tensor):
        self.bytes += tensor.nbytes
        return tensor


def train(dtype, images, labels, steps, device):
    net, kept = make_network(device), Kept()
    optimizer = neura.optim.AdamW(net.parameters(), lr=2e-3)
    halves = dtype is not neura.float32
    scaler = neura.amp.GradScaler(device, enabled=dtype is neura.float16)
    if device == "cuda":
        neura.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    for step in range(steps):
        chosen = neura.arange(step * 64, (step + 1) * 64).to(device) % len(labels)
        optimizer.zero_grad()
        kept.bytes = 0
        with neura.autograd.graph.saved_tensors_hooks(kept.pack, lambda tensor: tensor):
            with neura.autocast(device, dtype if halves else None, enabled=halves):
                loss = F.cross_entropy(net(images[chosen]), labels[chosen])
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    final = loss.item()  # waits for the device
    seconds = (time.perf_counter() - begin) / steps
    memory = neura.cuda.max_memory_allocated() if device == "cuda" else kept.bytes
    net.eval()
    with neura.no_grad(), neura.autocast(device, dtype if halves else None, enabled=halves):
        accuracy = (net(images).argmax(1) == labels).float().mean().item()
    return final, seconds, memory, accuracy


def main():
    args = options(__doc__, images=0, steps=0)
    count, steps = args.images or (256 if args.quick else 1024), args.steps or (20 if args.quick else 60)
    device = args.device.type
    images, labels = make_images(count, device)
    memories = []
    for dtype in (neura.float32, neura.bfloat16, neura.float16):
        loss, seconds, memory, accuracy = train(dtype, images, labels, steps, device)
        name = str(dtype).split(".")[-1]
        print(
            f"{name:9} {1e3 * seconds:8.2f} ms a step, {memory / 2**20:7.2f} MiB, "
            f"loss {loss:.3f}, accuracy {100 * accuracy:.1f} %"
        )
        memories.append(memory)
        assert accuracy > 0.8
    share = 0.7 if device == "cpu" else 1.0  # of the device's peak, parameters and their states are a part
    assert max(memories[1:]) < share * memories[0], "halves need less memory"


if __name__ == "__main__":
    main()
