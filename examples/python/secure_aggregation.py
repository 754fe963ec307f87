"""Secure aggregation (Bonawitz et al., 2017): a server learns the sum of its clients' updates and none of them. Each
pair of clients shares a seed; one adds the numbers drawn from it, the other one takes them away. In the sum they are
gone, and every single message is noise. A client that drops out is no harm: the others tell the seeds that they shared
with it, and its masks are taken away.

python examples/python/secure_aggregation.py [--device cuda]

Left out: how the seeds are agreed on (Diffie and Hellman), and the second mask that protects a client whose message
comes late, after its seeds were told.
"""

import neura
from example import options

args = options(__doc__)
neura.manual_seed(0)
CLIENTS, SIZE, UNIT = 5, 5_000 if args.quick else 50_000, 1 << 16  # numbers are multiples of 1 / UNIT
LOW, HIGH = -(1 << 31), 1 << 31  # int32, whose sums wrap around: additions modulo 2^32

updates = [neura.randn(SIZE) * 0.01 for _ in range(CLIENTS)]
seeds = {(i, j): int(neura.randint(0, 1 << 40, ()).item()) for i in range(CLIENTS) for j in range(i + 1, CLIENTS)}


def whole(update):
    return (update * UNIT).round().to(neura.int32)


def mask(pair):
    """What both of a pair draw from the seed that they share."""
    generator = neura.Generator()
    generator.manual_seed(seeds[pair])
    return neura.randint(LOW, HIGH, (SIZE,), generator=generator).to(neura.int32).to(args.device)


def message(client):
    masked = whole(updates[client]).to(args.device)
    for pair in seeds:
        if client in pair:
            masked = masked + mask(pair) if client == pair[0] else masked - mask(pair)
    return masked


def summed(messages, dropped):
    """The server: messages of those who are there, and of the seeds only those shared with one who is not."""
    total = sum(messages[1:], messages[0])
    for pair in seeds:
        gone = [client for client in pair if client in dropped]
        if len(gone) == 1:  # the other one has put this mask into the sum
            total = total + mask(pair) if gone[0] == pair[0] else total - mask(pair)
    return total


messages = [message(client) for client in range(CLIENTS)]
for dropped in ([], [2], [0, 4]):
    there = [client for client in range(CLIENTS) if client not in dropped]
    total = summed([messages[client] for client in there], dropped)
    exact = sum(whole(updates[client]).to(neura.int64) for client in there)
    assert total.cpu().to(neura.int64).equal(exact), "the sum is exact"
    lost = (total.cpu().double() / UNIT - sum(updates[client].double() for client in there)).abs().max().item()
    print(f"without {dropped or 'nobody'}: the sum of {len(there)} is exact, {lost:.1e} off the sum of real numbers")
    assert lost <= len(there) * 0.5 / UNIT

# %% What the server sees of one client: as many numbers in each sixteenth of all, whatever the update is
sixteenth = (HIGH - LOW) // 16
for name, seen in (("an update", whole(updates[1])), ("its message", messages[1].cpu())):
    counts = neura.bincount((seen.to(neura.int64) - LOW).div(sixteenth, rounding_mode="floor"), minlength=16).double()
    chi = ((counts - SIZE / 16) ** 2 / (SIZE / 16)).sum().item()
    together = neura.corrcoef(neura.stack([seen.double(), updates[1].double()]))[0, 1].item()
    print(f"{name}: chi-square of 16 intervals {chi:.1f}, correlation with the update {together:+.3f}")
assert chi < 45 and abs(together) < 4 / SIZE**0.5, "15 degrees of freedom: 45 is met once in ten thousand runs"
