"""Packages whose names are imported when they are first used, so that ``import quadric`` and ``--help`` cost nothing."""

import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any


def lazy_names(
    package: str, homes: "Mapping[str, Collection[str]]", rooms: "Collection[str]" = ()
) -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    homes : mapping
        Modules below the package, with the names that each of them defines.
    rooms : collection of str
        Subpackages that can be used without an import of their own.
    """
    modules = {name: f"{package}.{home}" for home, names in homes.items() for name in names}

    def get(name: str) -> "Any":
        from importlib import import_module

        if name in rooms:
            return import_module(f"{package}.{name}")
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # from now on found without this function
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *modules, *rooms})
