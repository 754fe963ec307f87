"""The types of results with names, such as neura.return_types.topk, which is a tuple (values, indices)."""

from . import _neura

_FIELDS = {
    **dict.fromkeys("cummax cummin kthvalue max median min mode nanmedian sort topk".split(), "values indices"),
    "aminmax": "min max",
    "frexp": "mantissa exponent",
    "geqrf": "a tau",
    "histogram": "hist bin_edges",
    "histogramdd": "hist bin_edges",
    "qr": "Q R",
    "slogdet": "sign logabsdet",
    "svd": "U S V",
    "triangular_solve": "solution cloned_coefficient",
    "linalg_cholesky_ex": "L info",
    "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors",
    "linalg_inv_ex": "inverse info",
    "linalg_ldl_factor": "LD pivots",
    "linalg_ldl_factor_ex": "LD pivots info",
    "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U",
    "linalg_lu_factor": "LU pivots",
    "linalg_lu_factor_ex": "LU pivots info",
    "linalg_qr": "Q R",
    "linalg_slogdet": "sign logabsdet",
    "linalg_solve_ex": "result info",
    "linalg_svd": "U S Vh",
}


def __getattr__(name):
    fields = _FIELDS.get(name)
    if fields is None:
        raise AttributeError(f"module 'neura.return_types' has no attribute {name!r}")
    globals()[name] = _neura._result_type(name, fields.split())
    return globals()[name]


def __dir__():
    return sorted(_FIELDS)


__all__ = sorted(_FIELDS)
