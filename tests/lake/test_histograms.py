"""Histograms as Spark Columns give the same results as routebook.rollup."""

from random import Random

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from routebook.lake.build.gold.histograms import bucket_floor, percentile
from routebook.rollup import bucket_floor as floor_of
from routebook.rollup import bucket_of
from routebook.rollup import percentile as percentile_of

SHARES = (0.0, 0.01, 0.29, 0.5, 0.57, 0.99, 1.0)


def test_bucket_floors_are_equal(spark: SparkSession) -> None:
    buckets = sorted(
        {bucket_of(value) for value in [*range(200), *(2**k + d for k in range(8, 40) for d in (-1, 0, 9))]}
    )
    rows = spark.createDataFrame([(bucket,) for bucket in buckets], "bucket bigint")
    found = [row.floor for row in rows.select(bucket_floor(fn.col("bucket")).alias("floor")).collect()]
    assert found == [floor_of(bucket) for bucket in buckets]


def test_percentiles_are_equal(spark: SparkSession) -> None:
    draw = Random(7)
    histograms: list[dict[int, int]] = [{}]
    for size in (1, 2, 3, 5, 20, 100):
        for _ in range(5):
            values = [draw.choice([draw.randrange(40), draw.randrange(70_000)]) for _ in range(size)]
            histograms.append({bucket_of(value): draw.randint(1, 30) for value in values})
    rows = [(sorted(counts.items()), max(counts, default=0) - draw.randint(0, 1)) for counts in histograms]
    frame = spark.createDataFrame(rows, "entries array<struct<bucket: bigint, n: bigint>>, greatest bigint")
    columns = [percentile(fn.col("entries"), share, greatest=fn.col("greatest")) for share in SHARES]
    found = [list(row) for row in frame.select(*(column.alias(f"p{k}") for k, column in enumerate(columns))).collect()]
    expected = [
        [percentile_of(counts, share, max_value=greatest) for share in SHARES]
        for counts, (_, greatest) in zip(histograms, rows, strict=True)
    ]
    assert found == expected
