"""The papers' studies, one module each: every number of theirs beside ours."""

from askew.reproduce.study import Study, Table

__all__ = ["Study", "Table"]
