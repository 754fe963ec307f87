"""The CPU."""

__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """The instruction set that kernels use at most: "AVX512", "AVX2", "NEON" or "DEFAULT"."""
    import platform

    machine = platform.machine().lower()
    if machine in ("aarch64", "arm64"):
        return "NEON"
    if machine not in ("x86_64", "amd64"):
        return "DEFAULT"
    try:
        with open("/proc/cpuinfo") as file:
            flags = set(next(line for line in file if line.startswith("flags")).split())
    except (OSError, StopIteration):
        return "DEFAULT"
    return (
        "AVX512"
        if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags
        else "AVX2"
        if "avx2" in flags
        else "DEFAULT"
    )
