"""What is true of a surface under rules on slopes and coefficients: the smallest slope for each rule; the rules that bind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quadric.geometry.box import ShapeRules, binding_rows, lowest_slope, slope_form
from quadric.geometry.cuts import ROUNDING, Cuts
from quadric.geometry.surface import QuadraticSurface
from quadric.samples.units import Units
from quadric.types import IntArray

# Slope up to which a rule counts as just met, relative to what it is the sum of.
BINDING = 1e-9
TRAINING_ROWS = "the training rows"


@dataclass(frozen=True)
class SlopeProof:
    """The smallest slope of a score along one feature, in the demanded direction, over all values that rows can take.

    Attributes
    ----------
    feature : str
    sign : 1 or -1
        Whether the score should never fall, or never rise.
    slope : float
        Smallest value of sign times the slope, in the user's units; of a feature with two values, of its step.
    margin : float
        How much lower it may be, for rounding.
    row : mapping of str to float
        Where it is reached: values of the features that the slope depends on.
    box : mapping of str to pair of float
        Values that these can take.
    is_capped : bool
        Whether rows beyond are capped at the box: the proof is then about any row.
    is_step : bool
        Whether it holds only of the two ends of the feature: it has two values, and its square is a term.
    rows : str
        Where columns without caps have their range from.
    has_gaps : bool
        Whether the feature may be missing, which a flag then tells; the proof is about rows where it is not.
    """

    feature: str
    sign: int
    slope: float
    margin: float
    row: Mapping[str, float]
    box: Mapping[str, tuple[float, float]]
    is_capped: bool
    is_step: bool = False
    rows: str = TRAINING_ROWS
    has_gaps: bool = False

    @property
    def proved(self) -> bool:
        """Whether the slope has the demanded sign everywhere, rounding included."""
        return bool(self.slope >= self.margin)

    def words(self) -> str:
        """The verdict as a line of text.

        Returns
        -------
        str
            "proved: never rises with income, for any row"
        """
        moves = "falls" if self.sign > 0 else "rises"
        if self.proved:
            where = "any row" if self.is_capped else f"rows in the range of {self.rows}"
            if self.is_step:
                low, high = self.box[self.feature]
                where += f" where {self.feature} is {low:.6g} or {high:.6g}"
            gaps = " (a step between missing and present is not covered)" if self.has_gaps else ""
            return f"proved: never {moves} with {self.feature}, for {where}{gaps}"
        if self.slope >= 0.0:
            return f"undecided: whether it {moves} with {self.feature} is a matter of rounding"
        where = ", ".join(f"{name} = {value:.6g}" for name, value in self.row.items())
        return f"{moves} with {self.feature}" + (f" where {where}" if where else "")

    @staticmethod
    def all_of(
        surface: QuadraticSurface, shape: ShapeRules | None, names: Sequence[str], units: Units
    ) -> tuple[SlopeProof, ...]:
        """What is true of a surface for each rule on a slope.

        Parameters
        ----------
        surface : QuadraticSurface
            In the units of a fit.
        shape : ShapeRules or None
            In the same units.
        names : sequence of str
        units : Units
            Of the fit.
        """
        if shape is None:
            return ()
        box, found = shape.box, list[SlopeProof]()
        low = np.where(np.isfinite(units.low), units.low, box.low * units.scale + units.center)
        high = np.where(np.isfinite(units.high), units.high, box.high * units.scale + units.center)
        for rule in shape.slopes:
            c, row = rule.feature, surface.W[rule.feature]
            lowest = lowest_slope(rule, box, row, float(surface.b[c]))
            at = np.where(
                lowest.at == box.low, low, np.where(lowest.at == box.high, high, lowest.at * units.scale + units.center)
            )
            live = np.flatnonzero(row).tolist()
            involved = live if c in live else [c, *live]
            found.append(
                SlopeProof(
                    feature=str(names[c]),
                    sign=rule.sign,
                    slope=float(lowest.slope / units.scale[c]),
                    margin=float(lowest.margin / units.scale[c]),
                    row={str(names[j]): float(at[j]) for j in live},
                    box={str(names[j]): (float(low[j]), float(high[j])) for j in involved},
                    has_gaps=c in box.flags.values(),
                    is_capped=bool(np.isfinite(units.low[involved]).all() and np.isfinite(units.high[involved]).all()),
                    is_step=bool(box.two_valued[c] and row[c] != 0.0),
                )
            )
        return tuple(found)


def binding_rules(surface: QuadraticSurface, terms: IntArray, shape: ShapeRules | None) -> Cuts | None:
    """The rules that a surface just meets, as conditions on some terms, which hold its own."""
    if shape is None:
        return None
    rows, limits, z = [np.zeros((0, len(terms)))], list[float](), surface.coordinates()
    for rule in shape.slopes:
        for at in binding_rows(rule, shape.box, surface.W[rule.feature], float(surface.b[rule.feature])):
            form = np.zeros(len(z))
            positions, factors = slope_form(rule.feature, at)
            form[positions] = rule.sign * factors
            if abs(float(form @ z)) <= BINDING * float(np.abs(form) @ np.abs(z)):
                rows.append(form[None, terms])
                limits.append(0.0)
    for bound in shape.bounds:
        for sign, limit in ((1.0, bound.low), (-1.0, bound.high)):
            if np.isfinite(limit) and abs(z[bound.term] - limit) <= ROUNDING * abs(limit):
                rows.append(sign * (terms == bound.term)[None])
                limits.append(sign * limit)
    return Cuts(np.vstack(rows), np.array(limits))
