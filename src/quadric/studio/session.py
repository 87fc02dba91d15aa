"""What one analyst has done on a table: the steps, the candidates, and what is on the page now."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from quadric.blas import one_blas_thread
from quadric.losses import loss_named
from quadric.progress import advance, parts
from quadric.studio.candidates import Shelf
from quadric.studio.choices import ChoiceError, changed
from quadric.studio.history import History
from quadric.studio.saving import Files
from quadric.studio.saving import Work as Work
from quadric.studio.showing import Showing
from quadric.studio.worker import Worker
from quadric.workflow.bench import Bench
from quadric.workflow.options import AUTO, TrainingOptions

State = dict[str, Any]
# Work of the bench on some options
Task: TypeAlias = tuple[Callable[[TrainingOptions], Any], TrainingOptions]
# What choices call terms
TERMS = ("term", "out", "into")


class Session:
    """The state behind the page; every method may be called from any thread.

    Parameters
    ----------
    bench : Bench
    work : Work
    """

    def __init__(self, bench: Bench, work: Work) -> None:
        self.bench, self.work = bench, work
        self._showing = Showing(bench)
        self._history = History(bench)
        self._version = self._told = 0
        self._shelf, self._files = Shelf(bench, self._showing.symbol), Files(bench, work)
        self._lock = threading.RLock()
        self._listeners: list[Callable[[State], None]] = []
        self._worker = Worker(self._progress, self._failed)
        self._settle()

    @property
    def options(self) -> TrainingOptions:
        """Of the model that is on the page."""
        return self._history.options

    def source(self) -> State:
        """What has become of the file, for pages that ask for nothing."""
        return {"source": self.bench.news_of_source()}

    def start(self) -> State:
        """What the page needs once."""
        own = {"name": self.work.name, "folder": str(self.work.folder), "file": self._files.proposed.name}
        return self._showing.constant() | own

    @one_blas_thread()
    def state(self) -> State:
        """All that is on the page now."""
        with self._lock:
            shown, self._told = self._showing.state(self.options), self._told + 1
            return shown | {
                **self._shelf.told(self.options),
                "steps": self._history.told(),
                "at": self._history.at,
                "version": self._version,
                "told": self._told,  # an answer may come after news that are newer
                "source": self.bench.news_of_source(),
                "command": self.work.repeat(self.options, self._files.proposed),
            }

    @one_blas_thread()
    def do(self, choice: Mapping[str, Any]) -> State:
        """Make a choice: one of ``choices.CHOICES``, "undo", "redo", or "go" to a step.

        Parameters
        ----------
        choice : mapping
            ``do``, and what that takes.

        Returns
        -------
        dict
            The state after it.
        """
        before = self._version
        # what runs for an older choice only takes time now; if this one is refused, it goes on
        with self._lock, self._worker.paused():
            if choice.get("do") in ("undo", "redo", "go"):
                self._move(choice)
            else:
                self._choose(choice)
            if self._version != before:
                self._worker.do(None)
            state = self.state()
        if self._version != before:
            self._settle()
        return state

    def _move(self, choice: Mapping[str, Any]) -> None:
        before = self._history.at
        if choice["do"] == "go":
            self._history.go(choice.get("step"))
        else:
            self._history.move(1 if choice["do"] == "redo" else -1)
        self._version += self._history.at != before

    def _choose(self, choice: Mapping[str, Any]) -> None:
        texts = {name: self.bench.terms.settled(choice[name]) for name in TERMS if isinstance(choice.get(name), str)}
        choice = {**choice, **texts}
        if choice.get("do") == "column":
            choice = {**choice, **self._showing.of_column(choice.get("column"))}
        options, words = changed(self.options, choice)
        if options == self.options:
            return
        if choice["do"] != "k":
            fewest = self.bench.ks(options)
            options = replace(options, k=min(max(options.k or 1, fewest[0]), fewest[-1]))
        elif options.k not in self.bench.ks(options):
            raise ChoiceError(f"there is no equation with {options.k} terms")
        with _silent():
            self.bench.draft(options)  # refused before it is a step
        self._history.add(words, options, slides=choice["do"] == "k")
        self._version += 1

    def explain(self, row: Any) -> State:
        """One row of the table, by the equation that is on the page.

        Parameters
        ----------
        row : int

        Returns
        -------
        dict
        """
        with self._lock:
            return self._showing.explained(self.options, row)

    def keep(self, name: Any, notes: Any = "") -> State:
        """Keep the equation as a candidate; a name that is there already gets the new one.

        Parameters
        ----------
        name, notes : str

        Returns
        -------
        dict
            The state.
        """
        with self._lock:
            self._shelf.keep(name, notes, self.options)
            return self.state()

    def drop(self, number: Any) -> State:
        """Forget a candidate.

        Parameters
        ----------
        number : int
            Its position.

        Returns
        -------
        dict
            The state.
        """
        with self._lock:
            self._shelf.drop(number)
            return self.state()

    def compare(self, first: Any, second: Any) -> State:
        """Put two candidates side by side; the comparison stays in the state, and follows later choices.

        Parameters
        ----------
        first, second : int
            Their positions; None: the equation that is on the page.

        Returns
        -------
        dict
            The state.
        """
        with self._lock:
            self._shelf.compare(first, second)
            return self.state()

    def save(self, name: Any, notes: Any = "") -> State:
        """Write the model file, with the steps in it.

        Parameters
        ----------
        name : str
            Of the file, in the folder of the session.
        notes : str
            Why the model is as it is.

        Returns
        -------
        dict
            What was written, and the command that makes the model again.
        """
        path = self._files.target(name)
        if not isinstance(notes, str):
            raise ChoiceError("notes must be a text")
        with self._lock:
            steps = [(step.words, step.options) for step in self._history.passed]
            with _silent():
                return self._files.save(path, self.options, steps, notes, self._shelf.candidates)

    def choose(self) -> State:
        """Choose loss and C for the number of terms by cross-validation, beside the page, which is told of it.

        Returns
        -------
        dict
            Nothing yet.
        """
        before = self.options

        def work() -> None:
            with _silent():
                found = self.bench.settled(replace(before, loss=AUTO, C=None))
                self.bench.draft(found)
            with self._lock:
                if before == self.options and found != before:
                    self._history.add(f"loss {found.loss} and C = {found.C:g}, chosen by the folds", found)
                    self._version += 1
            self._publish()
            self._settle()

        self._worker.do(work)
        return {}

    def prove(self) -> State:
        """Prove how far the near ties are all that there are, beside the page, which is told of it.

        Returns
        -------
        dict
            Nothing yet.
        """
        options = self.options

        def work() -> None:
            with _silent():
                self.bench.proved_sets(options)
            self._publish()
            self._settle()

        self._worker.do(work)
        return {}

    def report(self, name: Any) -> State:
        """Write a report on the model, beside the page, which is told of it.

        Parameters
        ----------
        name : str
            Of the model file that it is named like.

        Returns
        -------
        dict
            What is being written.
        """
        path, options = self._files.report_target(name), self.options

        def work() -> None:
            words = f"A newer choice has ended the work on {path.name}: save it again."
            try:
                with _silent():
                    self._files.report(path, options)
                words = f"Saved: {path}"
            except Exception:
                words = f"{path.name} was not written."
                raise
            finally:
                self._send({"saved": words})
            self._settle()

        self._worker.do(work)
        return {"saved": f"Writing {path}"}

    def listen(self, listener: Callable[[State], None]) -> Callable[[], None]:
        """Tell somebody of progress and of states that change by themselves; the answer ends that."""
        with self._lock:
            self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """End all work, and tell whoever listens."""
        self._worker.close()
        self._send({"end": "The studio has ended; what was saved is there."})

    def _settle(self) -> None:
        """Find out all that is not known yet of the model on the page, and then of the other steps."""
        options = self.options
        self._worker.do(lambda: self._learn(options))

    def _learn(self, options: TrainingOptions) -> None:
        with _silent():
            for tasks in self._unknown(options):
                for (work, own), own_part in zip(tasks, parts(*[1.0] * len(tasks)), strict=True):
                    with own_part:
                        advance(0.0, "folds")  # a newer choice ends the work here, too
                        work(own)
                    with self._lock:
                        self._history.note(own)
                    self.bench.is_trained(options)  # what is on the page stays among what was wanted lately
                if tasks:
                    self._publish()

    def _unknown(self, options: TrainingOptions) -> Iterator[list[Task]]:
        """What is still to be found out, the most wanted kind first; each kind is looked up when its turn comes."""
        bench, history = self.bench, self._history
        yield [] if bench.fitted_objective(options) is not None else [(bench.trained, options)]
        yield [] if bench.score(options) is not None else [(bench.scores, options)]
        bounds: list[Task] = [] if bench.known_bounded(options) is not None else [(bench.bounded, options)]
        if loss_named(options.loss).cheap_exchanges:
            yield bounds
        yield [] if bench.known_ties(options) is not None else [(bench.ties, options)]
        with self._lock:
            unscored = history.unscored
        yield [(bench.scores, own) for own in unscored]
        yield [(bench.scores, own) for _, own in self._showing.stand_ins(options) if bench.score(own) is None]
        if not loss_named(options.loss).cheap_exchanges:
            yield bounds
        with self._lock:
            unfitted = history.unfitted
        yield [(bench.trained, own) for own in unfitted]

    def _publish(self) -> None:
        self._send({"state": self.state()})

    def _progress(self, share: float, what: str) -> None:
        self._send({"progress": round(share, 3), "what": what})

    def _failed(self, error: Exception) -> None:
        self._send({"error": " ".join(str(error).split()) or type(error).__name__})

    def _send(self, message: State) -> None:
        for listener in list(self._listeners):
            listener(message)


def _silent() -> Any:
    """A block whose warnings the page does not show: it shows what they speak of."""
    return warnings.catch_warnings(action="ignore")
