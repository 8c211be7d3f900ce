"""Alembic's home: the steps from one shape of the store to the next."""
