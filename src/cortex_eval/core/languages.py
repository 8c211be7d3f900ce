"""Languages by the names that people know them by."""

from __future__ import annotations

from functools import lru_cache

LANGUAGES = {
    "english": "en",
    "hindi": "hi",
    "hinglish": "hi-latn",
    "nepali": "ne",
    "marathi": "mr",
    "urdu": "ur",
    "bengali": "bn",
    "bangla": "bn",
    "gujarati": "gu",
    "punjabi": "pa",
    "tamil": "ta",
    "telugu": "te",
    "kannada": "kn",
    "malayalam": "ml",
    "odia": "or",
    "spanish": "es",
    "french": "fr",
    "german": "de",
    "portuguese": "pt",
    "arabic": "ar",
    "chinese": "zh",
    "japanese": "ja",
    "russian": "ru",
    "assamese": "as",
    "sinhala": "si",
    "pashto": "ps",
    "persian": "fa",
    "farsi": "fa",
    "turkish": "tr",
    "hebrew": "he",
    "amharic": "am",
    "somali": "so",
    "swahili": "sw",
    "hausa": "ha",
    "yoruba": "yo",
    "zulu": "zu",
    "afrikaans": "af",
    "vietnamese": "vi",
    "thai": "th",
    "burmese": "my",
    "khmer": "km",
    "indonesian": "id",
    "malay": "ms",
    "tagalog": "tl",
    "filipino": "fil",
    "korean": "ko",
    "mandarin": "zh",
    "italian": "it",
    "dutch": "nl",
    "polish": "pl",
    "ukrainian": "uk",
    "czech": "cs",
    "slovak": "sk",
    "hungarian": "hu",
    "romanian": "ro",
    "bulgarian": "bg",
    "serbian": "sr",
    "croatian": "hr",
    "greek": "el",
    "albanian": "sq",
    "swedish": "sv",
    "norwegian": "no",
    "danish": "da",
    "finnish": "fi",
    "catalan": "ca",
}
"""Codes by English name, in lower case; of two names for one code, the first is the one that is shown."""
_NAMES = {code: name.capitalize() for name, code in reversed(LANGUAGES.items())}


@lru_cache(maxsize=256)  # a page of ten thousand cases asks for each of them
def language_name(code: str) -> str:
    """`Hindi` for `hi`, `English (en-IN)` for `en-IN`; a code that is not known stays as it is."""
    plain = code.strip().casefold().replace("_", "-")
    if plain in _NAMES:
        return _NAMES[plain]
    base = _NAMES.get(plain.partition("-")[0])
    return f"{base} ({code})" if base else code


def language_label(code: str) -> str:
    """`Hindi (hi)` for `hi`, as rows of a table call it; a code that is not known stays as it is."""
    name = language_name(code)
    return name if name == code or name.endswith(f"({code})") else f"{name} ({code})"
