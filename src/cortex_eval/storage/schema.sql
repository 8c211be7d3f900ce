-- A fresh SQLite store, made in one step. tests/storage/test_migrations.py holds this file equal to the migrations.

CREATE TABLE cortex_datasets (
    no INTEGER NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    cases INTEGER NOT NULL,
    file TEXT NOT NULL,
    file_sha256 TEXT NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (no),
    UNIQUE (name, version)
);

CREATE TABLE cortex_cases (
    dataset_no INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    case_id TEXT NOT NULL,
    category TEXT,
    tier INTEGER,
    language TEXT,
    cluster_id TEXT,
    tags TEXT,
    turns INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (dataset_no, ordinal),
    UNIQUE (dataset_no, case_id),
    FOREIGN KEY(dataset_no) REFERENCES cortex_datasets (no) ON DELETE CASCADE
);

CREATE TABLE cortex_runs (
    no INTEGER NOT NULL,
    id TEXT NOT NULL,
    suite TEXT NOT NULL,
    status TEXT NOT NULL,
    target_name TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target_version TEXT,
    dataset_no INTEGER NOT NULL,
    cases INTEGER NOT NULL,
    repeats INTEGER NOT NULL,
    ordinals BLOB NOT NULL,
    created TEXT NOT NULL,
    started TEXT,
    finished TEXT,
    manifest BLOB NOT NULL,
    summary BLOB,
    exit_code INTEGER,
    parent_id TEXT,
    owner TEXT NOT NULL,
    cancel_requested INTEGER NOT NULL,
    epoch INTEGER DEFAULT 0 NOT NULL,
    lease_until FLOAT DEFAULT 0 NOT NULL,
    PRIMARY KEY (no),
    UNIQUE (id),
    FOREIGN KEY(dataset_no) REFERENCES cortex_datasets (no)
);

CREATE TABLE cortex_results (
    seq INTEGER NOT NULL,
    run_no INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL,
    overall FLOAT,
    passed INTEGER,
    attempts INTEGER NOT NULL,
    latency_ms FLOAT,
    cached INTEGER NOT NULL,
    timestamp TEXT NOT NULL,
    error_kind TEXT,
    error_message TEXT,
    reply BLOB,
    raw BLOB,
    scores BLOB,
    PRIMARY KEY (seq),
    UNIQUE (run_no, ordinal, repeat, turn, attempt),
    FOREIGN KEY(run_no) REFERENCES cortex_runs (no) ON DELETE CASCADE
);

CREATE TABLE cortex_cache (
    "key" TEXT NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY ("key")
);

CREATE TABLE cortex_baselines (
    name TEXT NOT NULL,
    suite TEXT NOT NULL,
    run_id TEXT,
    body BLOB NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (name, suite)
);

CREATE TABLE cortex_history (
    suite TEXT NOT NULL,
    target TEXT NOT NULL,
    run_id TEXT NOT NULL,
    finished TEXT NOT NULL,
    body BLOB NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (suite, target, run_id)
);

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
