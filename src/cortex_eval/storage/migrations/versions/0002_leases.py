"""One run, one owner: the epoch of a run, and when its lease ends."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what a lease needs; a run of before has none, so that whoever finds its owner gone may have it."""
    op.add_column("cortex_runs", sa.Column("epoch", sa.Integer, nullable=False, server_default=sa.text("0")))
    op.add_column("cortex_runs", sa.Column("lease_until", sa.Float, nullable=False, server_default=sa.text("0")))
