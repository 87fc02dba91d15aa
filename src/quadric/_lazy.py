"""Packages whose names are imported when they are first used, so that ``import quadric`` and ``--help`` cost nothing."""

import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(
    package: str, homes: "Mapping[str, str]", rooms: str = ""
) -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    homes : mapping
        Modules below the package, with the names that each of them defines, separated by spaces.
    rooms : str
        Subpackages that can be used without an import of their own, likewise.
    """
    modules = {name: home for home, names in homes.items() for name in names.split()}

    def get(name: str) -> "Any":
        from importlib import import_module

        if name not in modules and name not in rooms.split():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{modules.get(name, name)}")
        found = getattr(module, name) if name in modules else module
        setattr(sys.modules[package], name, found)  # from now on found without this function
        return found

    return get, lambda: sorted({*vars(sys.modules[package]), *modules, *rooms.split()})
