"""The hinge loss on lifted samples (docs/mathematics.md, section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from quadric.losses.hinge.intercept import hinge_intercept
from quadric.losses.rows import RowsData, RowsProblem
from quadric.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class HingeProblem(RowsProblem):
    """The hinge loss of each sample is as steep as C o."""

    loss_name: ClassVar[str] = "hinge"

    @cached_property
    def upper(self) -> FloatArray:
        return self.C * self.loss_weight

    def level(self, z: FloatArray) -> float:
        return hinge_intercept(self.A[:, :-1] @ z, self.y, self.loss_weight)

    def loss_at(self, margins: FloatArray) -> float:
        return self.C * float(self.loss_weight @ np.maximum(0.0, 1.0 - margins))

    def dual_constant(self, alpha: FloatArray) -> float:
        return math.fsum(alpha.tolist())


class HingeData(RowsData[HingeProblem]):
    """Training data of the hinge loss."""

    problem = HingeProblem
