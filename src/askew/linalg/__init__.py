"""Arithmetic whose last bit does not depend on blocks or threads, factorisations, exact top-k and places."""

from askew.linalg.factor import SVD, factored_svd, svd, symmetric_eigen
from askew.linalg.fixed import FloatArray, matmul, row_dots, row_norms, tree_sum
from askew.linalg.places import places
from askew.linalg.threads import blas_threads, one_thread, side_by_side
from askew.linalg.topk import top_k

__all__ = [
    "SVD",
    "FloatArray",
    "blas_threads",
    "factored_svd",
    "matmul",
    "one_thread",
    "places",
    "row_dots",
    "row_norms",
    "side_by_side",
    "svd",
    "symmetric_eigen",
    "top_k",
    "tree_sum",
]
