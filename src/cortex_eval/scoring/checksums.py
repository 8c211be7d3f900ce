"""Check digits: whether a number can be the Aadhaar or card number that it looks like."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

# Verhoeff 1969, "Error Detecting Decimal Codes": the dihedral group of order 10 and a permutation of period 8.
_SHUFFLE = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def digits_of(text: str) -> list[int]:
    """The decimal digits of the text, in any script."""
    return [unicodedata.decimal(char) for char in text if char.isdecimal()]


def passes_verhoeff(digits: Sequence[int]) -> bool:
    """Whether the last digit is the Verhoeff check digit of the others, as in Aadhaar numbers."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        for _ in range(place % 8):
            digit = _SHUFFLE[digit]
        total = _product(total, digit)
    return len(digits) > 1 and total == 0


def passes_luhn(digits: Sequence[int]) -> bool:
    """Whether the last digit is the Luhn check digit of the others (ISO/IEC 7812), as in card numbers."""
    doubled = [digit * 2 - 9 * (digit > 4) if place % 2 else digit for place, digit in enumerate(reversed(digits))]
    return len(digits) > 1 and sum(doubled) % 10 == 0


def _product(a: int, b: int) -> int:
    """The product of two elements of the dihedral group of order 10, numbered 0..4 (turns) and 5..9 (flips)."""
    if a < 5:
        return (a + b) % 5 if b < 5 else 5 + (a + b - 5) % 5
    return 5 + (a - 5 - b) % 5 if b < 5 else (a - b) % 5
