"""A session behind an address of this machine."""

from __future__ import annotations

import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quadric.extras import require
from quadric.fitted import fitted_model
from quadric.labels import refuse_masked
from quadric.progress import STOP
from quadric.studio.session import Session, Work
from quadric.studio.unfitted import Unfitted
from quadric.table_classifier import TableClassifier, labelled_table
from quadric.tables import as_table
from quadric.tables.table import Rows
from quadric.workflow.bench import Bench
from quadric.workflow.options import TrainingOptions

HOST = "127.0.0.1"
# Seconds without a page after which the server ends
AWAY = 900.0
# Seconds between looks at that
LOOK = 1.0


class Serving:
    """A session at an address, until it is closed.

    Parameters
    ----------
    session : Session or Unfitted
    port : int
        0: a free one.
    keep : bool
        Whether to go on when no page has been open for a quarter of an hour.
    log : function
        Told one line for each request that is refused.
    """

    def __init__(
        self,
        session: Session | Unfitted,
        *,
        port: int = 0,
        keep: bool = False,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        require("starlette", "studio")
        uvicorn = require("uvicorn", "studio")
        from quadric.studio.app import Audience, application

        self._session, self._keep = session, keep
        self._audience = Audience(time.monotonic)
        self._socket = _listening(port)
        own = self._socket.getsockname()[1]
        guard = application(session, self._audience, (f"{HOST}:{own}", f"localhost:{own}"), log)
        # The token is in the fragment, which no request carries
        self.address = f"http://{HOST}:{own}/#{guard.token}"
        config = uvicorn.Config(
            guard, log_config=None, log_level="critical", access_log=False, server_header=False, timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="quadric studio server", daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Until the server is closed, or nobody has looked at the page for long."""
        STOP.was_wanted = False
        while self._thread.is_alive():
            self._thread.join(LOOK)
            if STOP.is_wanted or STOP.was_wanted:  # the first Ctrl-C ends a proof beside the page: here it is for all
                raise KeyboardInterrupt
            if not self._keep and self._audience.away > AWAY:
                self.close()

    def close(self) -> None:
        """End the server and all work."""
        self._session.close()
        self._server.should_exit = True
        self._thread.join(10.0)
        self._socket.close()

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"quadric studio: {self.address}"


def _listening(port: int) -> socket.socket:
    """A socket of this machine alone: at the port, or where that is taken at a free one."""
    for wanted in (port, 0):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listening.bind((HOST, wanted))
            listening.listen()  # who comes before the server is up waits
        except OSError:
            listening.close()
            continue
        return listening
    raise OSError(f"no port of {HOST} can be used")


def open_browser(address: str) -> bool:
    """Open a page in the user's browser, if there is one; never in a text browser, which would take the terminal."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return False
    if isinstance(found, webbrowser.GenericBrowser) and type(found) is webbrowser.GenericBrowser:
        return False
    return found.open(address)


def open_studio(
    model: Any, X: Rows, y: ArrayLike, *, output_folder: str | Path = ".", port: int = 0, keep: bool = True
) -> Serving:
    """Open the workbench on a model and the data that it was fitted to, from Python or a notebook.

    Parameters
    ----------
    model : TableClassifier, SparseQuadraticSVC or SparseQuadraticSVCCV
        Whose options the page begins with; of two classes. It need not be fitted, and is left as it is.
    X : frame, Table, Arrow table, mapping of columns, or array-like of shape (m, n)
    y : array-like of shape (m,)
    output_folder : path
        The only folder in which the page writes files.
    port : int
        0: a free one.
    keep : bool
        Whether to go on when no page has been open for a quarter of an hour.

    Returns
    -------
    Serving
        Its ``address`` is for the browser; ``close()`` ends it.
    """
    refuse_masked(X=X, y=y)
    options, table = _options_of(model), as_table(X)
    rows, target = labelled_table(table, y)
    folder = Path(output_folder).absolute()
    if not folder.is_dir():
        raise OSError(f"there is no folder {folder}; make it first")
    bench = Bench(rows, target, options)
    serving = Serving(Session(bench, Work(target, folder, python_lines)), port=port, keep=keep)
    sys.stdout.write(f"{serving!r}\n")
    return serving


def _options_of(model: Any) -> TrainingOptions:
    """The options of a model as those of a fit to a table."""
    if isinstance(model, TableClassifier):
        return model._options()
    parameters = model.get_params()
    fitted = fitted_model(model) if hasattr(model, "surfaces_") else None
    own = {name: parameters[name] for name in ("standardize", "clip", "hierarchy", "max_features") if name in parameters}
    for name in ("k", "C", "loss", "terms"):
        value = parameters.get(name) if fitted is None else fitted.question(name)
        if isinstance(value, str | int | float | np.number):
            own[name] = value.item() if isinstance(value, np.generic) else value
    for name in ("include", "exclude"):
        listed = parameters.get(name)
        if listed is not None and not all(isinstance(term, str) for term in listed):
            raise TypeError(f"the studio takes {name} by the names of terms")
        own[name] = tuple(listed or ())
    return TrainingOptions(**own)


def python_lines(options: TrainingOptions, path: Path) -> str:
    """Python that makes the same model again from X and y.

    Parameters
    ----------
    options : TrainingOptions
    path : Path
        Of the model file.

    Returns
    -------
    str
    """
    plain, own = vars(TrainingOptions()), vars(options)
    written = ", ".join(f"{name}={value!r}" for name, value in own.items() if value != plain[name])
    lines = [
        "from quadric import TableClassifier",
        f"model = TableClassifier({written}).fit(X, y)",
        f"model.save({str(path)!r})",
    ]
    return "\n".join(lines)
