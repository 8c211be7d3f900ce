"""Lets the tests of this room use the results made for the room before it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
