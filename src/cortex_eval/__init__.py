"""Unit testing for soft logic: an evaluation engine for conversational AI."""
