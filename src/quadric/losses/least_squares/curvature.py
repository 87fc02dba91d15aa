"""M = G + 2C R~'R~ of the squared loss (docs/mathematics.md, eq. 2.3), with all pairs of candidates or without.

With very many candidates no p x p matrix can be formed. A row of R~'R~ is then one product X' diag(.) X (section 8), and a row
of G has few entries, so vectors of length p are all that is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh

from quadric.geometry.energy import Energy
from quadric.geometry.moments import gram
from quadric.geometry.products import LiftedSums
from quadric.geometry.terms import to_matrix
from quadric.losses.base import KEPT_BYTES
from quadric.losses.perspective import Split
from quadric.types import FloatArray, IntArray


class Curvature:
    """The matrix of all pairs, with its eigendecomposition, made when first asked for; all classes and all k share one.

    Parameters
    ----------
    M, G : arrays of shape (p, p)
        G is the regulariser, the ridge included.
    """

    def __init__(self, M: FloatArray, G: FloatArray) -> None:
        self.M, self.G = M, G

    @property
    def diagonal(self) -> FloatArray:
        """Of M."""
        return np.diag(self.M)

    @property
    def energy_trace(self) -> float:
        """Of G."""
        return float(np.trace(self.G))

    def row(self, term: int) -> FloatArray:
        """Of M."""
        return self.M[term]

    def block(self, support: IntArray) -> FloatArray:
        """M_SS."""
        return self.M[np.ix_(support, support)]

    def curved(self, z: FloatArray) -> float:
        """z'Mz."""
        return float(z @ (self.M @ z))

    def among(self, candidates: IntArray) -> Curvature:
        """The same on some candidates."""
        square = np.ix_(candidates, candidates)
        return Curvature(self.M[square], self.G[square])

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors."""
        e, V = eigh(self.M, driver="evd", check_finite=False)
        # M is positive semidefinite; what rounding leaves below zero would turn a penalty into a reward
        return np.maximum(e, 0.0), np.ascontiguousarray(V)

    @cached_property
    def split(self) -> Split:
        """M = M0 + D of the perspective bound."""
        return Split.of_matrix(self.M)


class ScatterRows:
    """Rows of R~'R~ on the candidates, made when asked for; neither C nor the labels change them.

    Parameters
    ----------
    sums : LiftedSums
    weight : array of shape (m,)
        o.
    energy : Energy
        Of G.
    terms : array
        The candidates.
    mean : array of shape (all terms,)
        Weighted mean of r(x) - r(shift).
    scatter : array of shape (p,)
        Diagonal of R~'R~.
    """

    def __init__(
        self, sums: LiftedSums, weight: FloatArray, energy: Energy, terms: IntArray, mean: FloatArray, scatter: FloatArray
    ) -> None:
        self.sums, self.weight, self.energy, self.terms, self._mean, self.scatter = sums, weight, energy, terms, mean, scatter
        self.energy_diagonal = energy.diagonal()[terms]
        self._rows: OrderedDict[int, FloatArray] = OrderedDict()
        self._blocks: OrderedDict[bytes, FloatArray] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_rows": OrderedDict(), "_blocks": OrderedDict()}  # other processes make their own

    def on_candidates(self, v: FloatArray) -> FloatArray:
        """sum_i v_i (r(x_i) - mean) on the candidates."""
        return np.asarray((self.sums.sums(v) - v.sum() * self._mean)[self.terms])

    def row(self, position: int, n_kept: int) -> FloatArray:
        """The row of one candidate; ``n_kept`` are kept at least, since making them is expensive."""
        if position not in self._rows:
            # (8.3): the column of one term, then one product X' diag(.) X for all pairs with it
            term = self.terms[[position]]
            r = np.concatenate([rows[:, 0] for _, rows in self.sums.lifted(term)])
            self._rows[position] = self.on_candidates(self.weight * (r - self._mean[term[0]]))
            while len(self._rows) > max(n_kept, KEPT_BYTES // (8 * len(self.terms))):
                self._rows.popitem(last=False)
        self._rows.move_to_end(position)
        return self._rows[position]

    def block(self, positions: IntArray) -> FloatArray:
        """The entries of some candidates and each other."""
        key = positions.tobytes()
        if key not in self._blocks:
            terms, total = self.terms[positions], np.zeros((len(positions),) * 2)
            for rows, R in self.sums.lifted(terms) if len(terms) else ():
                R -= self._mean[terms]
                R *= np.sqrt(self.weight[rows, None])
                total += gram(R)
            self._blocks[key] = total
            while len(self._blocks) > 2:  # refit, objective and bracket ask for the same one in turn
                self._blocks.popitem(last=False)
        return self._blocks[key]

    def energy_row(self, term: int, onto: FloatArray | None = None) -> FloatArray:
        """A row of G on the candidates, added to another vector."""
        total = np.zeros(len(self.terms)) if onto is None else onto
        positions, G = self.energy.row(int(self.terms[term]))
        # terms of G's sparse row that are no candidates have no place among them
        places = np.minimum(np.searchsorted(self.terms, positions), len(self.terms) - 1)
        candidate = self.terms[places] == positions
        total[places[candidate]] += G[candidate]
        return total


class WideCurvature:
    """The matrix of very many candidates, of which only rows, small blocks and products are formed.

    Parameters
    ----------
    rows : ScatterRows
    C : float
    n_kept : int
        Rows that are kept at least.
    """

    def __init__(self, rows: ScatterRows, C: float, n_kept: int) -> None:
        self.rows, self._twice_C, self._n_kept = rows, 2.0 * C, n_kept
        self.diagonal = rows.energy_diagonal + self._twice_C * rows.scatter
        self.energy_trace = float(rows.energy_diagonal.sum())

    def row(self, term: int) -> FloatArray:
        """Of M."""
        return self.rows.energy_row(term, self._twice_C * self.rows.row(term, self._n_kept))

    def block(self, support: IntArray) -> FloatArray:
        """M_SS."""
        return self.among(support).M

    def curved(self, z: FloatArray) -> float:
        """z'Mz."""
        live = np.flatnonzero(z)
        return float(z[live] @ (self.block(live) @ z[live]))

    def among(self, candidates: IntArray) -> Curvature:
        """The matrix of all pairs of some candidates."""
        terms = self.rows.terms[candidates]
        G = self.rows.energy.block(terms, terms)
        return Curvature(G + self._twice_C * self.rows.block(candidates), G)

    def times(self, full: FloatArray) -> FloatArray:
        """Mz for a z of any number of terms, given as a vector over all terms (8.2)."""
        scores, o = self.rows.sums.scores(*to_matrix(full)), self.rows.weight
        # the intercept is eliminated (2.1), which centres the scores
        v = o * (scores - (o @ scores) / float(o.sum()))
        return self.rows.energy.gradient(full)[self.rows.terms] + self._twice_C * self.rows.on_candidates(v)
