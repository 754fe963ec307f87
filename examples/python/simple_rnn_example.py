"""A recurrent network reads a row of digits and says whether they add up to more than nine: its answer after the last
digit depends on every one of them. The layers are initialised by type, through Module.apply.

python examples/python/simple_rnn_example.py [--device cuda]
"""

import neura
from example import options
from neura import nn

args = options(__doc__)


class SimpleRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(4, 16)  # a vector for each digit 0 ... 3
        self.rnn = nn.RNN(16, 32, batch_first=True)  # [N, T, 16] -> [N, T, 32]
        self.head = nn.Linear(32, 2)  # no or yes

    def forward(self, digits):
        outputs, _ = self.rnn(self.embedding(digits))
        return self.head(outputs[:, -1])  # after the last digit


def initialise(m):
    """apply() calls it for every module, children first. A matrix that a state is multiplied by at each step should
    keep its length: an orthogonal one does."""
    if isinstance(m, nn.Embedding):
        nn.init.normal_(m.weight, 0, 0.5)
    elif isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        nn.init.zeros_(m.bias)
    elif isinstance(m, nn.RNN):
        for name, p in m.named_parameters():
            if name.startswith("weight_hh"):
                nn.init.orthogonal_(p)
            elif name.startswith("weight_ih"):
                nn.init.xavier_uniform_(p, nn.init.calculate_gain("tanh"))
            else:
                nn.init.zeros_(p)


def rows(count):
    digits = neura.randint(0, 4, (count, 6), device=args.device)
    return digits, (digits.sum(dim=1) > 9).long()


neura.manual_seed(0)
net = SimpleRNN().apply(initialise)
w = net.rnn.weight_hh_l0.detach()
assert neura.allclose(w @ w.T, neura.eye(32), atol=1e-5), "the recurrent matrix is orthogonal"
net.to(args.device)
optimizer = neura.optim.Adam(net.parameters(), lr=3e-3)
losses = []
for epoch in range(12 if args.quick else 30):
    total = 0.0
    for _ in range(25):
        digits, more = rows(64)
        loss = nn.functional.cross_entropy(net(digits), more)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        total += loss.item() / 25
    losses.append(total)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2}  loss {total:.4f}")
digits, more = rows(512)
with neura.no_grad():
    right = (net(digits).argmax(1) == more).float().mean().item()
print(f"{right:.1%} of 512 new rows are right")
assert losses[-1] < losses[0] / 2 and right > 0.9
