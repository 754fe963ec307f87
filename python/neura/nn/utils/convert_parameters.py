"""Parameters as one vector and back, under the name of PyTorch's file."""

from ..._neura.utils import parameters_to_vector, vector_to_parameters

__all__ = ["parameters_to_vector", "vector_to_parameters"]
