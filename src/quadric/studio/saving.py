"""What a session writes, and where: model files with the steps in them, and reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quadric.errors import printable
from quadric.export import save_model
from quadric.extras import require
from quadric.files import write_atomically
from quadric.report import render
from quadric.report.summarising import summarise_table
from quadric.studio.candidates import Candidate
from quadric.studio.choices import ChoiceError
from quadric.workflow.bench import Bench
from quadric.workflow.options import TrainingOptions
from quadric.workflow.scoring import TableModel
from quadric.workflow.training import with_samples

# Characters of the name of a file
LONGEST_NAME = 200


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


class Files:
    """The files of a session, in its folder alone.

    Parameters
    ----------
    bench : Bench
    work : Work
    """

    def __init__(self, bench: Bench, work: Work) -> None:
        self.bench, self.work, self._real_folder = bench, work, work.folder.resolve()

    def target(self, name: Any) -> Path:
        """Where a model file of this name is written.

        Parameters
        ----------
        name : str

        Returns
        -------
        Path
        """
        is_plain = isinstance(name, str) and name.isprintable() and Path(name).name == name and "\\" not in name
        if not is_plain or not name or name.startswith(".") or len(name) > LONGEST_NAME:
            raise ChoiceError("give the name of a file, without a folder")
        return self.work.folder / (name if name.endswith(".json") else f"{name}.model.json")

    @property
    def proposed(self) -> Path:
        """The model file that is called like the table."""
        return self.target(Path(self.work.name).stem.lstrip(".") or "model")

    def report_target(self, name: Any) -> Path:
        """Where the report on a model is written; refused where it cannot be.

        Parameters
        ----------
        name : str
            Of the model file that it is called like.

        Returns
        -------
        Path
        """
        path = self.target(name)
        path = path.with_name(f"{path.name.removesuffix('.json').removesuffix('.model')}.report.html")
        self._check_free(path)
        require("jinja2", "report")
        return path

    def _check_free(self, path: Path) -> None:
        """Refuse to write where something is, be it a link that leads nowhere, and in a folder that took the place of ours."""
        if self.work.folder.resolve() != self._real_folder:
            raise ChoiceError(f"{self.work.folder} leads elsewhere now; nothing is written")
        if os.path.lexists(path):
            raise ChoiceError(f"{path.name} exists in {self.work.folder}: take another name")

    def save(
        self,
        path: Path,
        options: TrainingOptions,
        steps: Iterable[tuple[str, TrainingOptions]],
        notes: str,
        candidates: Iterable[Candidate],
    ) -> dict[str, Any]:
        """Write a model file.

        Parameters
        ----------
        path : Path
        options : TrainingOptions
            Of the model.
        steps : iterable of str and TrainingOptions
            How it came about.
        notes : str
            Why it is as it is.
        candidates : iterable of Candidate

        Returns
        -------
        dict
            What was written, and the command that makes the model again.
        """
        trained = with_samples(self.bench.trained(options), self.bench.rows, self.bench.raw)
        history = {
            "steps": [{"words": words, "options": _changes(own)} for words, own in steps],
            "notes": notes,
            "candidates": [{"name": one.name, "notes": one.notes, "options": _changes(one.options)} for one in candidates],
        }
        saved = trained.saved(**self.work.metadata, studio=history)
        self._check_free(path)
        save_model(saved, path, force=False)
        return {"saved": f"Saved: {path}{self._origin()}", "command": self.work.repeat(options, path)}

    def _origin(self) -> str:
        """On which data a model stands, after the name of its file."""
        digest = self.bench.rows.data.sha256
        return "" if digest is None else f"; it stands on {printable(self.work.name)} with SHA-256 {digest}."

    def report(self, path: Path, options: TrainingOptions) -> None:
        """Write a report.

        Parameters
        ----------
        path : Path
        options : TrainingOptions
            Of the model.
        """
        trained = self.bench.trained(options)
        model, labels = TableModel(trained.saved()), trained.data.y
        how: dict[str, Any] = {"folds": options.folds, "seed": options.seed, "n_boot": 0, "n_jobs": 1}
        name = path.name.removesuffix(".report.html")
        page = render(summarise_table(model, self.bench.raw, labels, name=name, **how))
        self._check_free(path)
        write_atomically(path, page)


def _changes(options: TrainingOptions) -> dict[str, Any]:
    """Options that are not the defaults, as plain values."""
    plain = TrainingOptions().recorded()
    return {name: value for name, value in options.recorded().items() if value != plain[name]}
