"""Defaults and bounds that the estimators and the command line share, importable at no cost."""

from __future__ import annotations

DEFAULT_KS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
"""Numbers of terms that cross-validation tries, as far as the data have that many."""
DEFAULT_LINEAR_KS = (*DEFAULT_KS, 25, 30, 40)
"""The same where terms are linear."""
DEFAULT_CS = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
"""Values of C that it tries."""
DEFAULT_TOLERANCE = 0.005
"""Mean score that fewer terms may cost."""
DEFAULT_GAP = 0.01
"""Relative gap at which a proof may stop."""
LARGEST_COUNT = 1_000_000_000
"""No number of terms, rows, folds or iterations is larger."""
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-60, 1e60
"""No C and no weight of a class is beyond: products with it would leave the range of floating point."""
LARGEST_SEED = 2**32 - 1
"""What numpy's generators take."""
LONGEST_GRID = 10_000
"""Values of k, or of C, in one grid."""
MOST_LEVELS = 2_000
"""Levels of a text column; a model file holds no more."""
MOST_PROCESSES = 1_000
MOST_BOOTSTRAPS = 10_000
MOST_BINS = 10_000
MISSING = ("", "NA", "NaN", "null", "?")
"""Texts that mean a missing value, unless others are named; upper and lower case are the same."""
