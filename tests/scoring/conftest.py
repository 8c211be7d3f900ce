"""A model for the judges of this room."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from clinic_judge import says

from cortex_eval.testing import ScriptedService, speak_openai


@pytest.fixture
async def model() -> AsyncIterator[ScriptedService]:
    """A model that lets everything pass, until a test gives it other words."""
    async with ScriptedService(speak_openai(says("pass"))) as service:
        yield service
