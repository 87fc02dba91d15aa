"""Pictures as lists of SVG elements: scales, axes, marks. The page's template writes and escapes them."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from quadric.report.numbers import short, ticks

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
Pairs = Iterable[tuple[float, float]]
Place = tuple[float, float]
# Places on an axis and what is written there.
Ticks = Sequence[tuple[float, str]]
# Colours of positive and negative values, as in the style sheet; colour-blind readers can tell them apart.
POSITIVE, NEGATIVE = (209, 102, 10), (31, 111, 180)
# Room left of a picture, in pixels: for the title of the axis, for each character of its numbers, and beside these; in the
# larger letters of narrow screens.
TITLE, CHARACTER, BESIDE = 20.0, 9.5, 7.0


# An SVG element: its ``tag``, ``attributes`` and ``text``, and the ``title`` that a pointer over it shows.
Shape: TypeAlias = dict[str, Any]
# A picture for the template, as ``Plot.figure`` makes it.
Figure: TypeAlias = dict[str, Any]


def place(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def cut(text: str, longest: int = 24) -> str:
    """A text that has room."""
    return text if len(text) <= longest else text[: longest - 1] + ELLIPSIS


def told_apart(names: Sequence[str], longest: int) -> list[str]:
    """Names that have room and still differ: by their ends, or else by numbers, where their beginnings are equal."""
    short_ones = [cut(name, longest) for name in names]
    head = longest // 2
    tail = longest - head - 1
    ends = [name if len(name) <= longest else name[:head] + ELLIPSIS + name[len(name) - tail :] for name in names]
    best = [end if short_ones.count(name) > 1 else name for name, end in zip(short_ones, ends, strict=True)]
    return [f"{i + 1} {name[: longest - 3]}" if best.count(name) > 1 else name for i, name in enumerate(best)]


def tint(value: float, opacity: float) -> tuple[int, int, int, int]:
    """The colour of a value's sign, with an opacity out of 255."""
    return (*(POSITIVE if value > 0.0 else NEGATIVE), round(opacity))


@dataclass
class Plot:
    """A rectangle with two scales, into which marks are drawn."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    y_ticks: Ticks = ()
    width: float = 460
    height: float = 300
    right: float = 14
    top: float = 14
    bottom: float = 44
    character: float = CHARACTER
    shapes: list[Shape] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.y_ticks = self.y_ticks or [(value, short(value)) for value in ticks(*self.y_range)]
        self.left = TITLE + self.character * max((len(text) for _, text in self.y_ticks), default=0) + BESIDE

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / (high - low or 1.0) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.height - self.bottom - (value - low) / (high - low or 1.0) * (self.height - self.top - self.bottom)

    def add(self, tag: str, text: str = "", title: str = "", **attributes: str | float) -> None:
        """Draw an element; "_" in the names of attributes stands for "-", and "class_" for "class"."""
        written = {
            name.rstrip("_").replace("_", "-"): value if isinstance(value, str) else place(value)
            for name, value in attributes.items()
        }
        self.shapes.append({"tag": tag, "attributes": written, "text": text, "title": title})

    def axes(self, x_label: str, y_label: str, x_ticks: Ticks = ()) -> None:
        """Grid lines with their numbers or texts, and the names of the axes."""
        base, end = self.height - self.bottom, self.width - self.right
        for value, text in x_ticks or [(value, short(value)) for value in ticks(*self.x_range)]:
            self.add("path", class_="grid", d=f"M{place(self.x(value))} {place(self.top)}V{place(base)}")
            self.add("text", text, class_="tick", x=self.x(value), y=base + 16, text_anchor="middle")
        for value, text in self.y_ticks:
            self.add("path", class_="grid", d=f"M{place(self.left)} {place(self.y(value))}H{place(end)}")
            self.add("text", text, class_="tick", x=self.left - BESIDE, y=self.y(value) + 4, text_anchor="end")
        self.add("path", class_="axis", d=f"M{place(self.left)} {place(self.top)}V{place(base)}H{place(end)}")
        self.add("text", x_label, class_="label", x=(self.left + end) / 2, y=self.height - 8, text_anchor="middle")
        across, down = 13, (self.top + base) / 2
        turned = f"rotate(-90 {place(across)} {place(down)})"
        self.add("text", y_label, class_="label", x=across, y=down, text_anchor="middle", transform=turned)

    def line(self, points: Pairs, class_: str) -> None:
        self.add("polyline", class_=class_, points=self._listed(points))

    def area(self, upper: Sequence[Place], lower: Sequence[Place], class_: str) -> None:
        """What lies between two lines."""
        self.add("polygon", class_=class_, points=self._listed([*upper, *reversed(lower)]))

    def _listed(self, points: Pairs) -> str:
        return " ".join(f"{place(self.x(x))},{place(self.y(y))}" for x, y in points)

    def segments(self, points: Iterable[tuple[float, float, float, float]], class_: str) -> None:
        """Many short straight pieces as one element."""
        pieces = (f"M{place(self.x(a))} {place(self.y(b))}L{place(self.x(c))} {place(self.y(d))}" for a, b, c, d in points)
        self.add("path", class_=class_, d="".join(pieces))

    def dots(self, points: Pairs, class_: str) -> None:
        """Many dots as one element: strokes without length, which round ends make visible."""
        self.add("path", class_=class_, d="".join(f"M{place(self.x(x))} {place(self.y(y))}h0" for x, y in points))

    def crosses(self, points: Pairs, class_: str, size: float = 2.4) -> None:
        d, corners = place(2 * size), ((self.x(x) - size, self.y(y) - size) for x, y in points)
        self.add("path", class_=class_, d="".join(f"M{place(x)} {place(y)}l{d} {d}m-{d} 0l{d} -{d}" for x, y in corners))

    def bar(self, ends: Place, height: float, class_: str) -> None:
        """A rectangle that stands on zero."""
        x, y = self.x(ends[0]), self.y(height)
        self.add("rect", class_=class_, x=x, y=y, width=self.x(ends[1]) - x, height=self.y(0) - y)

    def backdrop(self, address: str) -> None:
        width, height = self.width - self.left - self.right, self.height - self.top - self.bottom
        self.add("image", href=address, x=self.left, y=self.top, width=width, height=height, preserveAspectRatio="none")

    def figure(
        self, id_: str, title: str, description: str, legend: Sequence[tuple[str, str]] = (), places: Sequence[Place] = ()
    ) -> Figure:
        """The picture with what is said of it.

        Parameters
        ----------
        id_ : str
            Of the element; letters and dashes.
        title : str
        description : str
            For screen readers.
        legend : sequence of pairs (class, text)
            Keys below the picture.
        places : sequence of pairs (x, y)
            Where the mark is at each stop of the slider, if it has a mark.
        """
        said = {"id": id_, "title": title, "description": description, "legend": legend, "places": places}
        return {**said, "width": self.width, "height": self.height, "shapes": self.shapes}


def png(rows: Sequence[Sequence[tuple[int, int, int, int]]]) -> str:
    """A picture of (red, green, blue, alpha) as a data address.

    Parameters
    ----------
    rows : sequence of rows of pixels
        From the top.
    """
    raw = b"".join(b"\0" + bytes(channel for pixel in row for channel in pixel) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 6, 0, 0, 0)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(raw, 9)), _chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode("ascii")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
