"""Tensors of different dtypes in one expression, sequences, taking tensors apart and putting them together, and reading
and writing by index. Every result shown is compared with what it must be.

python examples/python/advanced_tensor_ops_example.py
"""

import neura
from example import options

neura.set_default_device(options(__doc__).device)


def show(code, expected, dtype=None):
    result = eval(code)
    values = [x.tolist() for x in result] if isinstance(result, (tuple, list)) else result.tolist()
    print(f"{code:52} {values}")
    assert values == expected, code
    assert dtype is None or result.dtype == dtype, code


# %% Mixed dtypes: the kind decides first (bool, integer, floating, complex), then the width; a number has only a kind
whole, half = neura.tensor([1, 2, 3]), neura.tensor([0.5, 0.5, 0.5])
show("whole + half", [1.5, 2.5, 3.5], neura.float32)
show("half * neura.tensor([2.0, 4, 6]).double()", [1.0, 2.0, 3.0], neura.float64)
show("neura.tensor([True, False, True]) + whole", [2, 2, 4], neura.int64)
show("neura.tensor([1.5]).bfloat16() * 2.0", [3.0], neura.bfloat16)

# %% Sequences
show("neura.arange(2, 11, 3)", [2, 5, 8], neura.int64)
show("neura.linspace(0, 1, 5)", [0.0, 0.25, 0.5, 0.75, 1.0], neura.float32)
show("neura.eye(2, 3)", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], neura.float32)

# %% Apart and together; unbind, chunk and split give views, which share the bytes
table = neura.arange(6).reshape(2, 3)
show("table.unbind(0)", [[0, 1, 2], [3, 4, 5]])
show("neura.stack(table.unbind(1), dim=1)", [[0, 1, 2], [3, 4, 5]])
show("neura.arange(7).chunk(3)", [[0, 1, 2], [3, 4, 5], [6]])
show("table.split([1, 2], dim=1)", [[[0], [3]], [[1, 2], [4, 5]]])
show("neura.cat(table.split([1, 2], dim=1), dim=1)", [[0, 1, 2], [3, 4, 5]])
table.unbind(0)[0][0] = 100
show("table[0]", [100, 1, 2])  # a write to a view is a write to the table

# %% gather reads one element of each row, scatter_ writes one: the score of the right class, and one-hot rows
scores, labels = neura.tensor([[0.25, 0.75, 0.5], [0.5, 0.25, 0.125]]), neura.tensor([1, 2])
show("scores.gather(1, labels[:, None]).squeeze(1)", [0.75, 0.125])
show("neura.zeros(2, 3).scatter_(1, labels[:, None], 1.0)", [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
show("neura.zeros(3).scatter_add_(0, labels, neura.ones(2))", [0.0, 1.0, 1.0])

# %% Both have gradients: what was read gets its share, the rest 0
x = neura.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
(x * x).gather(1, neura.tensor([[1], [0]])).sum().backward()
show("x.grad", [[0.0, 4.0], [6.0, 0.0]])
