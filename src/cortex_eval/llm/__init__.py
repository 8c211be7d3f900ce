"""Language models behind one seam: OpenAI-compatible servers, Anthropic, Gemini and GGUF files; tokens and prices."""

from cortex_eval.llm.base import Asked, Completion, Message, Model, Tool
from cortex_eval.llm.gather import UNPARSED
from cortex_eval.llm.models import ModelSettings, make_model, prices_of
from cortex_eval.llm.prices import Prices, price_of, price_table

__all__ = [
    "UNPARSED",
    "Asked",
    "Completion",
    "Message",
    "Model",
    "ModelSettings",
    "Prices",
    "Tool",
    "make_model",
    "price_of",
    "price_table",
    "prices_of",
]
