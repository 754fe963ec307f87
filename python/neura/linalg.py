"""Linear algebra, under the names of torch.linalg.

>>> import neura
>>> neura.linalg.inv(neura.tensor([[2.0, 0.0], [0.0, 4.0]]))
tensor([[0.5000, 0.0000],
        [0.0000, 0.2500]])
"""

from ._neura.errors import LinAlgError  # noqa: F401
from ._neura.linalg import *  # noqa: F401,F403
