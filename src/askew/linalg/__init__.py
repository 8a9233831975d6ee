"""Arithmetic whose last bit does not depend on blocks, threads or machines, and exact top-k."""

from askew.linalg.fixed import matmul, row_dots, row_norms, tree_sum
from askew.linalg.topk import top_k

__all__ = ["matmul", "row_dots", "row_norms", "top_k", "tree_sum"]
