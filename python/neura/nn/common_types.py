"""Types of sizes that layers take, for annotations: an integer, or one for each dimension."""

from typing import Optional, Tuple, Union

for _n in range(1, 7):
    globals()[f"_size_{_n}_t"] = Union[int, Tuple[(int,) * _n]]
    globals()[f"_ratio_{_n}_t"] = Union[float, Tuple[(float,) * _n]]
_size_any_t, _ratio_any_t = Union[int, Tuple[int, ...]], Union[float, Tuple[float, ...]]
_size_any_opt_t = Tuple[Optional[int], ...]
_size_2_opt_t = Tuple[Optional[int], Optional[int]]
_size_3_opt_t = Tuple[Optional[int], Optional[int], Optional[int]]
