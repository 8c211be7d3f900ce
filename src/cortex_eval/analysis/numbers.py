"""Numbers as the gate writes them: as short as they can be, and never so short that two that differ look alike."""

from __future__ import annotations

TOLERANCE = 1e-9
"""A difference of exactly the allowed amount is allowed, whatever binary fractions make of it."""


def apart(one: float, other: float) -> tuple[str, str]:
    """Both numbers with as many decimals as it takes to see that they differ."""
    if min(abs(one), abs(other)) >= 10 and round(one) != round(other):
        return number(one), number(other)
    for decimals in range(2, 7):
        first, second = f"{one:,.{decimals}f}", f"{other:,.{decimals}f}"
        if first != second or one == other:
            break
    return first, second


def number(value: float) -> str:
    """A figure or a limit."""
    if abs(value) >= 10:
        return f"{value:,.0f}"
    short = f"{value:.2f}"
    return short if abs(float(short) - value) < TOLERANCE or abs(value) >= 0.1 else f"{value:.3g}"


def signed(value: float) -> str:
    """A difference."""
    text = f"{abs(value):,.0f}" if abs(value) >= 10 else f"{abs(value):.2f}"
    return ("" if float(text.replace(",", "")) == 0 else "+" if value > 0 else "−") + text


def rounded_up(value: float) -> str:
    """A size below which nothing is known: never shown smaller than it is."""
    if abs(value) >= 10:
        return f"{-(-value // 1):,.0f}"
    return f"{-(-round(value, 9) * 100 // 1) / 100:.2f}"


def share(value: float) -> str:
    """A share that is allowed."""
    return "none" if value == 0 else f"{value:.1%}"


def chance(p_value: float | None) -> str:
    """A p-value that allows for all that was tested together, as people write it."""
    if p_value is None:
        return "p unknown"
    return f"adjusted p {'< 0.001' if p_value < 0.001 else f'{p_value:.3f}' if p_value < 0.1 else f'{p_value:.2f}'}"
