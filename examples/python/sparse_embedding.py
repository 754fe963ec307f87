"""A table of many words of which each step needs a few: its gradient is sparse, and the optimizer touches only the rows
that were looked up. The words of a text are averaged, and a linear layer says what the text is about.

python examples/python/sparse_embedding.py
"""

import random
import time

import neura
from example import options
from neura import nn

args = options(__doc__)
neura.manual_seed(0)
words, topics = (20000, 5) if args.quick else (200000, 5)
draw = random.Random(0)


# %% Texts of 5 to 30 words; a word w belongs to topic w % 5, and most words of a text to its topic
def batch(count):
    """All words in one vector, where each text begins, and the topics."""
    numbers, begins, labels = [], [], []
    for _ in range(count):
        topic = draw.randrange(topics)
        begins.append(len(numbers))
        labels.append(topic)
        for _ in range(draw.randrange(5, 30)):
            word = int(words * draw.random() ** 6)  # few words are frequent, as in language
            numbers.append(word - word % topics + topic if draw.random() < 0.5 else word)
    return [neura.tensor(x, device=args.device) for x in (numbers, begins, labels)]


class Topics(nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.table = nn.EmbeddingBag(words, 32, mode="mean", sparse=sparse)
        self.head = nn.Linear(32, topics)

    def forward(self, numbers, begins):
        return self.head(self.table(numbers, begins))


def train(sparse, steps):
    neura.manual_seed(1)
    draw.seed(1)
    net = Topics(sparse).to(args.device)
    table, head = net.table.parameters(), net.head.parameters()
    optimizers = [
        neura.optim.SparseAdam(list(table), lr=0.02) if sparse else neura.optim.Adam(table, lr=0.02),
        neura.optim.Adam(head, lr=0.02),
    ]
    spent = 0.0
    for _ in range(steps):
        numbers, begins, labels = batch(64)
        begin = time.perf_counter()
        loss = nn.functional.cross_entropy(net(numbers, begins), labels)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        loss.item()
        spent += time.perf_counter() - begin
    return net, 1e3 * spent / steps


net, time_sparse = train(True, 120 if args.quick else 400)
grad = net.table.weight.grad
print(f"the gradient of a table of {words} rows stores {grad._nnz()} rows")
assert grad.is_sparse and grad._nnz() < words / 5
_, time_dense = train(False, 5 if args.quick else 20)
print(f"a step takes {time_sparse:.2f} ms with a sparse gradient, {time_dense:.2f} ms with a dense one")

numbers, begins, labels = batch(1000)
with neura.no_grad():
    right = (net(numbers, begins).argmax(1) == labels).float().mean().item()
print(f"{right:.1%} of 1000 new texts are right")
assert right > 0.85, "the stated floor: 85 %"
