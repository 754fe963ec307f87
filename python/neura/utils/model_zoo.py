"""Weights from the network, under PyTorch's name of old."""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
