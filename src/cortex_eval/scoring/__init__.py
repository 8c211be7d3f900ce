"""Scorers: deterministic, embedded, judged; one file and one class each."""
