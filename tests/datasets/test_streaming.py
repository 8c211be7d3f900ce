"""Large datasets stream: little time for a row, and no row is kept."""

import json
import tracemalloc

import pytest

from cortex_eval.datasets import read_cases, write_cases


@pytest.fixture
def ten_thousand(tmp_path):
    path = tmp_path / "a.jsonl"
    with path.open("w") as file:
        for i in range(10_000):
            question = f"What is the recommended dose of drug number {i} for adults?"
            file.write(json.dumps({"id": f"q{i}", "question": question, "ground_truth": f"It is: {i} mg"}) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_only_the_ids_are_kept_of_what_was_read(tmp_path, ten_thousand, ending):
    path = tmp_path / f"b.{ending}"
    write_cases((case for case in read_cases(ten_thousand)), path)
    for _ in read_cases(path).rows():  # what is loaded once does not count
        break

    tracemalloc.start()
    count = sum(1 for _ in read_cases(path).rows())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 10_000
    assert peak < 4_500_000  # the rows themselves take more than ten megabytes


def test_reading_starts_before_the_file_is_read_to_its_end(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "input": "a"}\n' + '{"id": "2", "input": "b"}\n' * 20_000)

    assert next(read_cases(path).rows()).id == "1"
