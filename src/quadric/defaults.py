"""Defaults that the estimators and the command line share, importable at no cost."""

from __future__ import annotations

DEFAULT_KS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
"""Numbers of terms that cross-validation tries, as far as the data have that many."""
DEFAULT_CS = (1.0, 8.0, 64.0, 512.0)
"""Values of C that it tries."""
