"""`database:` in a project file: a file, or the URL of a database, whose password is never shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortex_eval.config import load_project, resolved
from cortex_eval.core import InputError, redact

URL = "postgresql://me:${CLINIC_DB_PASSWORD}@db.example:5432/cortex?application_name=x"


def write(folder: Path, database: object) -> Path:
    path = folder / "cortex.yaml"
    path.write_text(json.dumps({"database": database}), encoding="utf-8")
    return path


@pytest.mark.parametrize("database", [URL, {"type": "postgresql", "url": URL}, {"url": URL}])
def test_a_postgresql_url_is_the_store_and_its_password_is_known_as_a_secret(tmp_path, monkeypatch, database):
    monkeypatch.setenv("CLINIC_DB_PASSWORD", "open-sesame-9")
    project = load_project(write(tmp_path, database))

    assert project.store == URL.replace("${CLINIC_DB_PASSWORD}", "open-sesame-9")
    assert "open-sesame-9" not in json.dumps(resolved(project))
    assert redact("open-sesame-9") == "***"


@pytest.mark.parametrize("database", ["a.db", "sqlite:///a.db", {"path": "a.db"}, {"type": "sqlite", "path": "a.db"}])
def test_a_file_is_relative_to_the_project(tmp_path, database):
    assert load_project(write(tmp_path, database)).store == tmp_path / "a.db"


def test_a_password_that_is_not_set_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv("CLINIC_DB_PASSWORD", raising=False)

    with pytest.raises(InputError, match="CLINIC_DB_PASSWORD is not set"):
        load_project(write(tmp_path, URL))
