"""Special functions, under the names of torch.special.

>>> import neura
>>> neura.special.expit(neura.tensor([0.0]))
tensor([0.5000])
"""

from ._neura.special import *  # noqa: F401,F403
