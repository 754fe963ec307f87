"""Windows for signals: vectors of M values. `sym`: symmetric, for filters; otherwise periodic, for spectra."""

from .._neura.windows import *  # noqa: F401,F403
