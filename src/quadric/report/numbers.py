"""Numbers as people read them: few digits, a real minus sign, groups of three."""

from __future__ import annotations

import math

MINUS, GROUP = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"
NOTHING = "\N{EN DASH}"


def number(value: float | None, digits: int = 4) -> str:
    """A number with a given count of significant digits.

    Parameters
    ----------
    value : float or None
        None, and what is not finite, is a dash.
    digits : int
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0.0:
        return "0"
    mantissa, power = f"{abs(value):.{digits - 1}e}".split("e")
    exponent = int(power)
    if -4 <= exponent < 9:
        text = f"{abs(value):{',' if exponent >= 4 else ''}.{max(0, digits - 1 - exponent)}f}".replace(",", GROUP)
    else:
        text = f"{mantissa}e{MINUS if exponent < 0 else ''}{abs(exponent)}"
    return (MINUS if value < 0 else "") + text


def short(value: float | None, digits: int = 4) -> str:
    """The same without zeros that say nothing: ticks, centres, counts."""
    text = number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def percent(share: float | None, decimals: int = 1) -> str:
    """A share in percent."""
    if share is None or not math.isfinite(share):
        return NOTHING
    return f"{100.0 * share:.{decimals}f}".replace("-", MINUS) + "\N{NARROW NO-BREAK SPACE}%"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high.

    Parameters
    ----------
    low, high : float
    about : int
        How many, roughly.
    """
    rough = (high - low) / max(about, 1)
    if not (math.isfinite(rough) and rough > 0.0):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]
