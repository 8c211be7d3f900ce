"""The first shape of the store: datasets, cases, runs, results, cache, baselines."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table of the first version."""
    op.create_table(
        "cortex_datasets",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("cases", sa.Integer, nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("file_sha256", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.UniqueConstraint("name", "version"),
    )
    op.create_table(
        "cortex_cases",
        sa.Column("dataset_no", sa.Integer, sa.ForeignKey("cortex_datasets.no", ondelete="CASCADE"), primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("category", sa.Text),
        sa.Column("tier", sa.Integer),
        sa.Column("language", sa.Text),
        sa.Column("cluster_id", sa.Text),
        sa.Column("tags", sa.Text),
        sa.Column("turns", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("dataset_no", "case_id"),
    )
    op.create_table(
        "cortex_runs",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("suite", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("target_name", sa.Text, nullable=False),
        sa.Column("target_kind", sa.Text, nullable=False),
        sa.Column("target_version", sa.Text),
        sa.Column("dataset_no", sa.Integer, sa.ForeignKey("cortex_datasets.no"), nullable=False),
        sa.Column("cases", sa.Integer, nullable=False),
        sa.Column("repeats", sa.Integer, nullable=False),
        sa.Column("ordinals", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("started", sa.Text),
        sa.Column("finished", sa.Text),
        sa.Column("manifest", sa.LargeBinary, nullable=False),
        sa.Column("summary", sa.LargeBinary),
        sa.Column("exit_code", sa.Integer),
        sa.Column("parent_id", sa.Text),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("cancel_requested", sa.Integer, nullable=False),
    )
    op.create_table(
        "cortex_results",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("run_no", sa.Integer, sa.ForeignKey("cortex_runs.no", ondelete="CASCADE"), nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("overall", sa.Float),
        sa.Column("passed", sa.Integer),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("latency_ms", sa.Float),
        sa.Column("cached", sa.Integer, nullable=False),
        sa.Column("timestamp", sa.Text, nullable=False),
        sa.Column("error_kind", sa.Text),
        sa.Column("error_message", sa.Text),
        sa.Column("reply", sa.LargeBinary),
        sa.Column("raw", sa.LargeBinary),
        sa.Column("scores", sa.LargeBinary),
        sa.UniqueConstraint("run_no", "ordinal", "repeat", "turn", "attempt"),
    )
    op.create_table(
        "cortex_cache",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
    )
    op.create_table(
        "cortex_baselines",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("suite", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
    )
