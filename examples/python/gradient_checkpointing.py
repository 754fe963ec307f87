"""A deep network, trained with and without checkpointing. Without, every block's inner values are kept for backward;
with, only what goes from block to block is, and the rest is computed once more. The gradients are the same bits.

python examples/python/gradient_checkpointing.py [--device cuda]
"""

import time

import neura
from example import memory, options
from neura import nn
from neura.utils.checkpoint import checkpoint

args = options(__doc__)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Deep(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.checkpointed = False

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return x


def step(net, x):
    """The gradients of a step, the most memory it needed, in MB, and its time, in ms."""
    figures = memory(args.device)
    net.zero_grad()
    before = figures.memory_allocated()
    figures.reset_peak_memory_stats()
    begin = time.perf_counter()
    net(x).square().mean().backward()
    gradients = [p.grad.cpu() for p in net.parameters()]  # waits for the device
    return gradients, (figures.max_memory_allocated() - before) / 1e6, 1e3 * (time.perf_counter() - begin)


neura.manual_seed(0)
net = Deep(12 if args.quick else 24, 128).to(args.device)
x = neura.randn(1024 if args.quick else 4096, 128, device=args.device)
step(net, x)  # warms up
kept, kept_memory, kept_time = step(net, x)
net.checkpointed = True
again, again_memory, again_time = step(net, x)
print(f"everything kept:  {kept_memory:6.1f} MB, {kept_time:6.1f} ms")
print(f"checkpoints:      {again_memory:6.1f} MB, {again_time:6.1f} ms")
assert again_memory < kept_memory / 2, "checkpoints need less than half of the memory"
assert all(neura.equal(a, b) for a, b in zip(kept, again)), "the gradients are the same"
print("the gradients are the same, bit for bit")
