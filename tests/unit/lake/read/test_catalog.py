"""Locations of files, as Hadoop and PyIceberg write them, in the form that DuckDB reads."""

import pytest

from routebook.lake.read.catalog import _file


@pytest.mark.parametrize(
    ("location", "file"),
    [
        ("s3a://bucket/a b.parquet", "s3://bucket/a b.parquet"),
        ("s3://bucket/a", "s3://bucket/a"),
        ("file:/nowhere/a%20b", "/nowhere/a b"),
        ("file:///nowhere/a", "/nowhere/a"),
        ("/nowhere/a", "/nowhere/a"),
    ],
)
def test_the_path_of_a_location(location: str, file: str) -> None:
    assert _file(location) == file
