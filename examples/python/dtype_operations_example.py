"""Whole numbers and truth values: how such tensors are made, counted with, compared, and how they choose elements of
others. Every result shown is compared with what it must be.

python examples/python/dtype_operations_example.py
"""

import neura
from example import options

device = options(__doc__).device
neura.set_default_device(device)
neura.manual_seed(0)


def show(code, expected, dtype):
    result = eval(code)
    print(f"{code:46} {result.tolist()}  {dtype}")
    assert result.tolist() == expected and result.dtype == dtype, code


# %% Making them
show("neura.zeros(2, 3, dtype=neura.int32)", [[0, 0, 0], [0, 0, 0]], neura.int32)
show("neura.full((2,), True)", [True, True], neura.bool)
dice = neura.randint(1, 7, (1000,))
assert dice.dtype == neura.int64 and dice.min() == 1 and dice.max() == 6
heads = neura.bernoulli(neura.full((1000,), 0.25)).bool().sum().item()  # the sum of bool counts, in int64
print(f"{heads} of 1000 coins that fall on heads once in four")
assert 150 < heads < 350

# %% Arithmetic: / is true division; dtypes meet in the smallest that holds both; integers wrap around
a, b = neura.tensor([7, -7, 3]), neura.tensor([2, 2, -2])
show("a / b", [3.5, -3.5, -1.5], neura.float32)
show("a // b", [3, -4, -2], neura.int64)
show("a % b", [1, 1, -1], neura.int64)
show("a & 3", [3, 1, 3], neura.int64)
show("a.int() + a", [14, -14, 6], neura.int64)
show("neura.tensor([250], dtype=neura.uint8) + 10", [4], neura.uint8)

# %% Logic: comparisons give bool
odd, positive = a % 2 == 1, a > 0
show("odd & positive", [True, False, True], neura.bool)
show("odd ^ positive", [False, True, False], neura.bool)
show("neura.tensor([0, 5]).logical_not()", [True, False], neura.bool)

# %% Choosing by numbers and by masks
table = neura.arange(12).reshape(3, 4)
show("table.index_select(1, neura.tensor([3, 0]))", [[3, 0], [7, 4], [11, 8]], neura.int64)
show("table.masked_select(table % 5 == 0)", [0, 5, 10], neura.int64)
show("table[table % 5 == 0]", [0, 5, 10], neura.int64)
show("table.clone().masked_fill_(table > 8, -1)[2]", [8, -1, -1, -1], neura.int64)
show("neura.where(table % 2 == 0, table, 0)[1]", [4, 0, 6, 0], neura.int64)
show("neura.bincount(neura.tensor([0, 2, 2, 5]))", [1, 0, 2, 0, 0, 1], neura.int64)
