"""A linear layer over numbers that it cannot read (Paillier, 1999). Who asks has a key and sends an encrypted input;
who has the weights multiplies and adds ciphertexts, and learns nothing; the answer is opened by the key alone.

python examples/python/encrypted_inference.py

The scheme is a toy to read: keys this short protect nothing, and Python's random numbers are not those that keys are
made of. A library such as OpenFHE or SEAL takes the place of the class Key.
"""

import math
import random
import time

import neura
from example import options
from neura import nn

args = options(__doc__)
neura.manual_seed(0)
draw = random.Random(1)
BITS = 256 if args.quick else 512  # of the modulus
UNIT = 1 << 16  # numbers are whole multiples of 1 / UNIT


# %% The scheme: products of ciphertexts are sums of what they hold, powers are products with a known number
def prime(bits):
    while True:
        n = draw.getrandbits(bits) | 1 << (bits - 1) | 1
        if all(pow(draw.randrange(2, n), n - 1, n) == 1 for _ in range(20)):
            return n


class Key:
    def __init__(self, bits):
        p, q = prime(bits // 2), prime(bits // 2)
        self.n = p * q
        self._secret = math.lcm(p - 1, q - 1)
        self._inverse = pow(self._secret, -1, self.n)

    def encrypt(self, whole):
        square, noise = self.n**2, draw.randrange(2, self.n)
        return (1 + whole % self.n * self.n) * pow(noise, self.n, square) % square

    def decrypt(self, secret):
        whole = (pow(secret, self._secret, self.n**2) - 1) // self.n * self._inverse % self.n
        return whole - self.n if whole > self.n // 2 else whole  # the upper half stands for numbers below 0


# %% Who has the weights: sees ciphertexts, and the modulus, which is no secret
class EncryptedLinear:
    def __init__(self, layer, modulus):
        self.square = modulus**2
        self.weight = (layer.weight.detach().double() * UNIT).round().long().tolist()
        self.bias = (layer.bias.detach().double() * UNIT**2).round().long().tolist()
        self.modulus = modulus

    def __call__(self, secrets):
        answers = []
        for row, shift in zip(self.weight, self.bias):
            total = 1 + shift % self.modulus * self.modulus
            for secret, factor in zip(secrets, row):
                total = total * pow(secret, factor % self.modulus, self.square) % self.square
            answers.append(total)
        return answers


# %% A trained classifier of points: which of three centres is nearest?
centres = neura.tensor([[2.0, 0.0, 1.0, -1.0], [-1.0, 2.0, 0.0, 1.0], [0.0, -2.0, -1.0, 1.0]])
label = neura.randint(0, 3, (300,))
x = centres[label] + 0.5 * neura.randn(300, 4)
layer = nn.Linear(4, 3)
optimizer = neura.optim.Adam(layer.parameters(), lr=0.05)
for _ in range(150):
    loss = nn.functional.cross_entropy(layer(x), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %% Asking without telling
key = Key(BITS)
served = EncryptedLinear(layer, key.n)
questions, worst, alike = x[: 3 if args.quick else 10], 0.0, 0
begin = time.perf_counter()
for question in questions:
    secrets = [key.encrypt(round(v * UNIT)) for v in question.tolist()]
    assert len(set(secrets)) == 4 and secrets[0] != key.encrypt(
        round(question[0].item() * UNIT)
    ), "never the same twice"
    opened = neura.tensor([key.decrypt(s) / UNIT**2 for s in served(secrets)], dtype=neura.float64)
    plain = layer(question).detach()
    worst = max(worst, (opened - plain).abs().max().item())
    alike += opened.argmax().item() == plain.argmax().item()
each = (time.perf_counter() - begin) / len(questions)
bound = 4 * (x.abs().max().item() + layer.weight.abs().max().item() + 1) / UNIT  # of rounding both factors
print(f"{len(questions)} answers of a layer of 4 x 3, {each * 1000:.0f} ms each with keys of {BITS} bits")
print(f"largest difference to the layer itself {worst:.1e}, at most {bound:.1e} by rounding")
assert worst <= bound and alike == len(questions)

# %% Who listens sees numbers without a pattern: of a message, every bit is as often 0 as 1
sent = [key.encrypt(UNIT) for _ in range(100)]
ones = sum(bin(s >> (BITS // 2)).count("1") for s in sent) / sum((s >> (BITS // 2)).bit_length() for s in sent)
print(f"share of ones among the bits of 100 encrypted ones: {ones:.3f}")
assert 0.48 < ones < 0.52
