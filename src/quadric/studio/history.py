"""The steps of a session, and what each has cost: prices stay with the steps, whatever the bench forgets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from quadric.studio.choices import ChoiceError
from quadric.studio.prices import objective_price, score_price
from quadric.workflow.bench import Bench, key_of
from quadric.workflow.options import TrainingOptions

# Steps that are kept
MOST_STEPS = 500


@dataclass(frozen=True)
class Worth:
    """What is known of a model that steps are compared by.

    Attributes
    ----------
    drafted : float
        The objective of its draft.
    fitted : float or None
        Of its fit; None: not known yet.
    score : float or None
        Out of fold; likewise.
    """

    drafted: float
    fitted: float | None = None
    score: float | None = None


@dataclass(frozen=True)
class Step:
    """A choice.

    Attributes
    ----------
    words : str
    options : TrainingOptions
        What they then were.
    key : str
        The same for all options with the same objective and score.
    """

    words: str
    options: TrainingOptions
    key: str

    @staticmethod
    def of(words: str, options: TrainingOptions) -> Step:
        """The step to some options."""
        return Step(words, options, key_of(options, "cutoff"))


class History:
    """Steps, one of which is on the page.

    Parameters
    ----------
    bench : Bench
    """

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.steps = [Step.of("the model to begin with", bench.start)]
        self.at = 0
        self._worth: dict[str, Worth] = {}
        self.note(bench.start)

    @property
    def options(self) -> TrainingOptions:
        """Of the step that is on the page."""
        return self.steps[self.at].options

    @property
    def passed(self) -> list[Step]:
        """The steps to the one that is on the page."""
        return self.steps[: self.at + 1]

    def go(self, step: object) -> None:
        """Put another step on the page.

        Parameters
        ----------
        step : int
        """
        if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < len(self.steps):
            raise ChoiceError("there is no such step")
        self.at = step

    def move(self, steps: int) -> None:
        """Go back or forward as far as there are steps: who presses a button once too often means the last one.

        Parameters
        ----------
        steps : int
        """
        self.at = min(max(self.at + steps, 0), len(self.steps) - 1)

    def add(self, words: str, options: TrainingOptions, *, slides: bool = False) -> None:
        """One step more; what was undone is given up.

        Parameters
        ----------
        words : str
        options : TrainingOptions
        slides : bool
            Whether it came from the slider: that passes many numbers on its way, and its step takes the place of its last one.
        """
        kept = self.steps[: self.at + (0 if slides and self._is_of_slider() else 1)]
        self.steps = [*kept, Step.of(words, options)][-MOST_STEPS:]
        self.at = len(self.steps) - 1
        self._worth = {step.key: self._worth[step.key] for step in self.steps if step.key in self._worth}
        self.note(options)

    def _is_of_slider(self) -> bool:
        """Whether the last step changed nothing but the number of terms."""
        if not self.at:
            return False
        before, last = self.steps[self.at - 1].options, self.options
        return replace(before, k=last.k) == last

    def note(self, options: TrainingOptions) -> None:
        """Remember what the bench now knows of some options, if they are those of a step.

        Parameters
        ----------
        options : TrainingOptions
        """
        key = key_of(options, "cutoff")
        if all(step.key != key for step in self.steps):
            return
        known = self._worth.get(key)
        fitted, score = self._bench.fitted_objective(options), self._bench.score(options)
        if known is None:
            known = Worth(self._bench.drafted_objective(options))
        self._worth[key] = replace(
            known, fitted=known.fitted if fitted is None else fitted, score=known.score if score is None else score
        )

    @property
    def unscored(self) -> list[TrainingOptions]:
        """Of steps whose price on the folds is still to come, the latest first."""
        return [step.options for step in reversed(self.steps) if self._worth[step.key].score is None]

    @property
    def unfitted(self) -> list[TrainingOptions]:
        """Of steps whose objective is still an estimate, the latest first."""
        return [step.options for step in reversed(self.steps) if self._worth[step.key].fitted is None]

    def told(self) -> list[dict[str, str]]:
        """The steps with their prices, in words."""
        prices = ["", *map(self._price, self.steps, self.steps[1:])]
        return [{"words": step.words, "price": price} for step, price in zip(self.steps, prices, strict=True)]

    def _price(self, before: Step, after: Step) -> str:
        """What a step changed; nothing where objectives cannot be compared and folds have not run."""
        old, new = self._worth[before.key], self._worth[after.key]
        parts = []
        if _question(before.options) == _question(after.options):
            # a draft is compared with a draft, and a fit with a fit
            if old.fitted is not None and new.fitted is not None:
                parts.append(objective_price(new.fitted / old.fitted - 1, 2) if old.fitted else "")
            elif old.drafted:
                parts.append(objective_price(new.drafted / old.drafted - 1, 2, is_estimate=True))
        if old.score is not None and new.score is not None:
            parts.append(score_price(after.options.scoring, new.score - old.score))
        return ", ".join(filter(None, parts))


def _question(options: TrainingOptions) -> tuple[object, ...]:
    """What objectives must have in common to be compared."""
    return options.loss, options.C, options.class_weight
