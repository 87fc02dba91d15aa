"""Results as text of at most 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

WIDTH = 80
# Characters of a level's name in a terminal
LONGEST = 26
QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
# Coefficients of several surfaces, and the start of the term that they belong to
ROW = re.compile(r" *-?\d\S*(  +-?\d\S*)*  \* ")
INNERMOST = re.compile(r"[(\[][^()\[\]]*[)\]]")


def paragraph(label: str, text: str) -> str:
    """A fact with its name before it, continued under itself."""
    return textwrap.fill(f"{label}: {text}", WIDTH, subsequent_indent=" " * 2, break_long_words=False, break_on_hyphens=False)


def paragraphs(facts: Mapping[str, str | None]) -> str:
    """One paragraph per fact; None is no fact."""
    return "\n".join(paragraph(label, text) for label, text in facts.items() if text is not None)


def indented(text: str, start: str) -> str:
    """A text after ``start``, continued under itself."""
    return textwrap.fill(
        text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_long_words=False, break_on_hyphens=False
    )


def wrapped_item(line: str) -> str:
    """A line of a list, continued under what comes after its blanks and its number."""
    start = re.match(r" *(\d+\. )?", line)[0]  # type: ignore[index]  # matches anything
    return indented(line[len(start) :], start)


def wrapped_equation(line: str) -> str:
    """An equation with its summands kept whole where they fit, as many per line as fit."""
    name, *right = _split(line, " = ")
    if not right:
        row = ROW.match(line)
        return textwrap.fill(line, WIDTH) if row is None else _filled(_split(line, r"(?=\*)"), " " * (row.end() - 2))
    indent = " " * min(len(name) + 3, 8)
    lines = [f"{name} ="]
    for summand in _split(right[0], r" (?=[+-] )"):
        if len(lines[-1]) + len(summand) < WIDTH:
            lines[-1] += f" {summand}"
            continue
        lines += _filled([indent, *_split(summand, r"(?=\*)")], f"{indent}    ").splitlines()
    return "\n".join(lines)


def _filled(parts: Sequence[str], indent: str) -> str:
    """Parts side by side, as many per line as fit, on lines after the first behind an indent."""
    lines = ["".join(parts[:2])]
    for part in parts[2:]:
        if len(lines[-1]) + len(part) > WIDTH:
            lines.append(indent)
        lines[-1] += part
    return "\n".join(lines)


def shortened_equation(line: str, most_lines: int, fewest_terms: int = 1) -> str:
    """An equation with long names of levels cut short and, where it is long, only its first terms: the largest ones.

    At least ``fewest_terms`` of them are shown, whatever lines they take.
    """
    short = QUOTED.sub(lambda match: match[0] if len(match[0]) <= LONGEST else f'{match[0][: LONGEST - 4]}..."', line)
    lines = wrapped_equation(short).splitlines()
    if len(lines) <= max(most_lines, 2):
        return "\n".join(lines)
    name, *right = _split(short, " = ")
    summands = _split(right[0], r" (?=[+-] )")
    for shown in range(len(summands) - 2, fewest_terms - 1, -1):
        left = len(summands) - shown - 1
        tail = f"... ({left} smaller term{'s' * (left > 1)} and the constant: --verbose)"
        lines = wrapped_equation(f"{name} = {' '.join(summands[:shown])}").splitlines()
        if len(lines) < max(most_lines, 2) or shown == fewest_terms:
            return "\n".join([*lines, f"{' ' * min(len(name) + 3, 8)}{tail}"])
    return "\n".join(lines)


def shortened_list(lines: Sequence[str], n_terms: int, most: int) -> list[str]:
    """The names of several surfaces, one line for each of their terms, the largest first, and the constants; then the rest."""
    end = 2 + n_terms
    if n_terms <= most:
        return [wrapped_equation(line) for line in lines]
    more = f"... ({n_terms - most} smaller term{'s' * (n_terms > most + 1)} and the constants: --verbose)"
    return [*map(wrapped_equation, lines[: 1 + most]), more, *map(wrapped_equation, lines[end:])]


def _split(text: str, separator: str) -> list[str]:
    """Parts between separators that are neither in brackets nor in quoted names."""
    plain = QUOTED.sub(_masked, text)
    while INNERMOST.search(plain):
        plain = INNERMOST.sub(_masked, plain)
    cuts = [0, *(end for match in re.finditer(separator, plain) for end in match.span()), len(text)]
    return [text[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True)]


def _masked(match: re.Match[str]) -> str:
    return "_" * len(match[0])


def short_name(name: str, longest: int = LONGEST) -> str:
    """A name on one line, cut where it is long."""
    line = " ".join(name.split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> list[str]:
    """Lines of a table; columns are as wide as they must be, and the last one goes on below itself."""
    *widths, _ = (max(map(len, column)) for column in zip(head, *rows, strict=True))
    aligned = ["<" if i in left else ">" for i in range(len(widths))]
    offset = sum(widths) + 2 * len(widths)
    lines = []
    for row in (head, *rows):
        cells = [f"{cell:{side}{width}}" for cell, side, width in zip(row, aligned, widths, strict=False)]
        last = textwrap.wrap(row[-1], max(WIDTH - offset, 20), break_long_words=False, break_on_hyphens=False) or [""]
        lines.append("  ".join([*cells, last[0]]).rstrip())
        lines += [" " * offset + more for more in last[1:]]
    return lines
