"""What one analyst has done on a table: the steps, the candidates, and what is on the page now."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from quadric.errors import printable
from quadric.export import save_model
from quadric.extras import require
from quadric.files import write_atomically
from quadric.losses import loss_named
from quadric.progress import parts
from quadric.report import render
from quadric.report.summarising import summarise_table
from quadric.studio.candidates import Candidate, compared
from quadric.studio.choices import ChoiceError, changed
from quadric.studio.history import History
from quadric.studio.showing import Showing
from quadric.studio.worker import Worker
from quadric.workflow.bench import Bench, key_of
from quadric.workflow.options import AUTO, TrainingOptions
from quadric.workflow.scoring import TableModel
from quadric.workflow.training import with_samples

State = dict[str, Any]
# Work of the bench on some options
Task: TypeAlias = tuple[Callable[[TrainingOptions], Any], TrainingOptions]
# What choices call terms
TERMS = ("term", "out", "into")
# Characters of the name of a file
LONGEST_NAME = 200
MOST_CANDIDATES = 50


@dataclass(frozen=True)
class Work:
    """What a session is about and where it writes.

    Attributes
    ----------
    name : str
        Of the table.
    folder : Path
        The only one in which anything is written.
    repeat : function
        What makes the same model again without the page: of options and the name of the file to write.
    metadata : mapping
        What model files are to say of the table.
    """

    name: str
    folder: Path
    repeat: Callable[[TrainingOptions, Path], str]
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Session:
    """The state behind the page; every method may be called from any thread.

    Parameters
    ----------
    bench : Bench
    work : Work
    """

    def __init__(self, bench: Bench, work: Work) -> None:
        self.bench, self.work = bench, work
        self._showing, self._real_folder = Showing(bench), work.folder.resolve()
        self._history = History(bench)
        self._version = self._told = 0
        self._candidates: list[Candidate] = []
        self._pair: tuple[str | None, str | None] | None = None
        self._comparison: tuple[Any, State] | None = None
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
        own = {"name": self.work.name, "folder": str(self.work.folder), "file": self._target(self._stem).name}
        return self._showing.constant() | own

    def state(self) -> State:
        """All that is on the page now."""
        with self._lock:
            shown, self._told = self._showing.state(self.options), self._told + 1
            kept = [{"name": printable(one.name), "notes": printable(one.notes)} for one in self._candidates]
            return shown | {
                "candidates": kept,
                "compared": self._compared(),
                "steps": self._history.told(),
                "at": self._history.at,
                "version": self._version,
                "told": self._told,  # an answer may come after news that are newer
                "source": self.bench.news_of_source(),
                "command": self._command(),
            }

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
            if choice.get("do") in ("undo", "redo"):
                self._history.move(1 if choice["do"] == "redo" else -1)
                self._version += 1
            elif choice.get("do") == "go":
                self._history.go(choice.get("step"))
                self._version += 1
            else:
                self._choose(choice)
            if self._version != before:
                self._worker.do(None)
            state = self.state()
        if self._version != before:
            self._settle()
        return state

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
        if not isinstance(name, str) or not name.strip() or not isinstance(notes, str):
            raise ChoiceError("give the candidate a name")
        with self._lock:
            others = [one for one in self._candidates if one.name != name]
            if len(others) >= MOST_CANDIDATES:
                raise ChoiceError(f"there are {MOST_CANDIDATES} candidates: drop one first")
            self._candidates = [*others, Candidate(name, notes, self.options)]
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
            gone = self._candidate(number)
            self._candidates = [one for one in self._candidates if one.name != gone.name]
            if self._pair is not None and gone.name in self._pair:
                self._pair = None
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
            self._pair = self._named(first), self._named(second)
            return self.state()

    def _named(self, number: Any) -> str | None:
        return None if number is None else self._candidate(number).name

    def _candidate(self, number: Any) -> Candidate:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self._candidates):
            raise ChoiceError("there is no such candidate")
        return self._candidates[number]

    def _compared(self) -> State | None:
        if self._pair is None:
            return None
        named = {one.name: one for one in self._candidates}
        pair = [Candidate("now", "", self.options) if name is None else named[name] for name in self._pair]
        key = [(one.name, key_of(one.options), self.bench.is_trained(one.options)) for one in pair]
        if self._comparison is None or self._comparison[0] != key:
            self._comparison = key, compared(self.bench, (pair[0], pair[1]), self._showing.symbol)
        return self._comparison[1]

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
        path = self._target(name)
        if not isinstance(notes, str):
            raise ChoiceError("notes must be a text")
        with self._lock:
            steps = [
                {"words": step.words, "options": _changes(step.options)} for step in self._history.steps[: self._history.at + 1]
            ]
            with _silent():
                trained = with_samples(self.bench.trained(self.options), self.bench.rows, self.bench.raw)
            kept = [{"name": one.name, "notes": one.notes, "options": _changes(one.options)} for one in self._candidates]
            history = {"steps": steps, "notes": notes, "candidates": kept}
            saved = trained.saved(**self.work.metadata, studio=history)
            self._check_new(path)
            save_model(saved, path, force=False)
            return {"saved": f"Saved: {path}{self._origin()}", "command": self.work.repeat(self.options, path)}

    def _origin(self) -> str:
        """On which data a model stands, after the name of its file."""
        digest = self.bench.rows.data.sha256
        return "" if digest is None else f"; it stands on {printable(self.work.name)} with SHA-256 {digest}."

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
        path = self._target(name)
        path = path.with_name(f"{path.name.removesuffix('.json').removesuffix('.model')}.report.html")
        self._check_new(path)
        require("jinja2", "report")
        options, bench = self.options, self.bench

        def written() -> str:
            with _silent():
                trained = bench.trained(options)
                model, labels = TableModel(trained.saved()), trained.data.y
                how: dict[str, Any] = {"folds": options.folds, "seed": options.seed, "n_boot": 0, "n_jobs": 1}
                return render(summarise_table(model, bench.raw, labels, name=path.name.removesuffix(".report.html"), **how))

        def work() -> None:
            words = f"A newer choice has ended the work on {path.name}: save it again."
            try:
                page = written()
                self._check_new(path)
                write_atomically(path, page)
                words = f"Saved: {path}"
            except Exception:
                words = f"{path.name} was not written."
                raise
            finally:
                self._send({"saved": words})
            self._settle()

        self._worker.do(work)
        return {"saved": f"Writing {path}"}

    def _target(self, name: Any) -> Path:
        is_plain = isinstance(name, str) and name.isprintable() and Path(name).name == name and "\\" not in name
        if not is_plain or not name or name.startswith(".") or len(name) > LONGEST_NAME:
            raise ChoiceError("give the name of a file, without a folder")
        return self.work.folder / (name if name.endswith(".json") else f"{name}.model.json")

    def _check_new(self, path: Path) -> None:
        """Refuse to write where something is, be it a link that leads nowhere, and in a folder that took the place of ours."""
        if self.work.folder.resolve() != self._real_folder:
            raise ChoiceError(f"{self.work.folder} leads elsewhere now; nothing is written")
        if os.path.lexists(path):
            raise ChoiceError(f"{path.name} exists in {self.work.folder}: take another name")

    def _command(self) -> str:
        return self.work.repeat(self.options, self._target(self._stem))

    @property
    def _stem(self) -> str:
        return Path(self.work.name).stem.lstrip(".") or "model"

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
                        work(own)
                    with self._lock:
                        self._history.note(own)
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


def _changes(options: TrainingOptions) -> dict[str, Any]:
    """Options that are not the defaults, as plain values."""
    plain = TrainingOptions().recorded()
    return {name: value for name, value in options.recorded().items() if value != plain[name]}


def _silent() -> Any:
    """A block whose warnings the page does not show: it shows what they speak of."""
    return warnings.catch_warnings(action="ignore")
