"""Weights from the network, under PyTorch's older name."""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
