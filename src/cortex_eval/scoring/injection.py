"""Signs that a text talks to its judge instead of to the user."""

from __future__ import annotations

import re
import unicodedata

from cortex_eval.core import shorten

LOOKED_AT = 50_000
"""Characters at the beginning and at the end of a text; nobody hides where no judge would read."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|[\U000e0000-\U000e007f]")
_BEST = r"(?:perfect|highest|maximum|full|top|best|passing)"
_MARK = r"(?:score|rating|verdict|grade|marks?|points?)"
_GIVE = r"(?:give|assign|award|return|output|respond with|answer with|reply with|set|rate|grade|score)"
_OURS = r"(?:previous|prior|above|earlier|preceding|system|judging|grading|evaluation)"
_TEXT = r"(?:instruction|prompt|rule|direction|criteri|guideline|message|text)"
_WHO = r"(?:llm |ai )?(?:judge|evaluator|grader|rater|auto-?grader)s?"
_TO = r"(?:dear|hey|note to|message to|message for|attention,?|instructions? to|instructions? for)"
_UP_TO_5 = r"(?:\s+[\w']+){0,5}?\s+"
_SIGNS = (
    # Away with what the judge was told.
    rf"\b(?:ignore|disregard|forget|override|bypass|skip)\b(?:\s+\w+){{0,3}}?\s+{_OURS}\b(?:\s+\w+){{0,2}}?\s+{_TEXT}",
    r"\b(?:ignore|disregard|forget) (?:all |everything |anything )(?:above|before|you were told|of the above)",
    r"\b(?:new|updated|real|actual) (?:system )?instructions?\s*:",
    r"(?:पिछले|पिछली|पूर्व|उपरोक्त|सभी)\s+(?:\S+\s+){0,2}?निर्देश(?:ों)?\s+(?:\S+\s+){0,2}?(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल)",
    # Here is your verdict. "Give your pain a score from 1 to 10" is none.
    rf"\b{_GIVE}\b{_UP_TO_5}{_BEST}\s+{_MARK}",
    rf"\b{_GIVE}\b{_UP_TO_5}{_MARK}\s*(?:of|as|is|to|:|=)?\s*[\"'`]?(?:pass|1(?:\.0+)?|10|100)\b(?!\s*(?:to|and|or|-|–|%))",
    r"\b(?:rate|grade|score)\b(?:\s+[\w']+){0,4}?\s+(?:10/10|5/5|100/100|1/1)",
    r"[\"'](?:verdict|score)[\"']\s*:\s*[\"']?(?:pass|fail|\d)",
    # The data ends here, or somebody else speaks.
    r"</?data-[0-9a-z]",
    r"<\|(?:im_start|im_end|system|assistant|eot_id|start_header_id)\|?>|\[/?inst\]|<</?sys>>",
    r"(?:^|\n)\s*#*\s*system(?: prompt| message)?\s*:",
    r"\bend of (?:the )?(?:data|material|answer|reply|response|prompt)\b",
    # Talking to the judge.
    rf"\b{_TO} (?:the |any |all )?{_WHO}\b",
    rf"\byou are (?:now )?(?:a |an |the )?(?:impartial |strict |lenient )?{_WHO}\b",
)
_SIGN = re.compile("|".join(unicodedata.normalize("NFKC", each) for each in _SIGNS))


def injected_words(text: str) -> str:
    """The words with which a text tries to steer its judge, as far as that can be told; empty when there are none."""
    part = text if len(text) <= 2 * LOOKED_AT else f"{text[:LOOKED_AT]}\n{text[-LOOKED_AT:]}"
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", part)).casefold()
    found = _SIGN.search(plain)
    return shorten(found[0].strip(), 100) if found else ""
