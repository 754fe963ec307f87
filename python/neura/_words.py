"""PyTorch's older words for dtypes, as in FloatTensor, FloatStorage and x.float()."""

DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Bool": "bool",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}


def kinds(ending):
    """FloatTensor and similar ones, or those with another ending, with the names of their dtypes."""
    return {word + ending: dtype for word, dtype in DTYPES.items()}
