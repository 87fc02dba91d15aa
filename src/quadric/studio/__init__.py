"""The workbench: a local page on which an analyst tries, compares and defends equations."""

from quadric._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quadric.studio.serving import open_studio

__all__ = ["open_studio"]

_HOMES = {"serving": "open_studio"}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
