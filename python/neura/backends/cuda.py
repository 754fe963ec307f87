"""Switches of products of matrices on CUDA devices."""

from .. import get_float32_matmul_precision, set_float32_matmul_precision

__all__ = ["matmul"]


class _Matmul:
    @property
    def allow_tf32(self):
        """May products of float32 matrices round their operands to TF32, for tensor cores? At first they may not."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allow):
        set_float32_matmul_precision("high" if allow else "highest")


matmul = _Matmul()
