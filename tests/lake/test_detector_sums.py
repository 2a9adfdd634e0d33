"""The figures of gold.detector_tradeoff do not depend on the order of the rows that they are computed from."""

import random
from datetime import date
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from routebook.lake.build.gold import detector_tradeoff
from routebook.lake.build.schema import conform, schema
from routebook.lake.build.step import Inputs
from routebook.lake.tables.gold import BROKER_AVAILABILITY_DAILY, DETECTOR_TRADEOFF, HEARTBEAT_QUALITY
from routebook.lake.tables.table import Table
from routebook.rollup import bucket_of


class Given:
    """Upstream tables as rows."""

    def __init__(self, spark: SparkSession, rows: dict[Table, list[dict[str, Any]]]) -> None:
        self._frames = {
            table.name: spark.createDataFrame(
                [tuple(row.get(column.name) for column in table.declared) for row in of_table], schema(table)
            )
            for table, of_table in rows.items()
        }

    def table(self, name: str) -> DataFrame:
        return self._frames[name]


def test_shuffled_rows_give_the_same_figures_to_the_last_digit(spark: SparkSession) -> None:
    made = random.Random(4)
    beats, up = [], []
    for number in range(60):
        broker = {"ns": "n", "cluster": "C", "broker": f"b{number}", "addr": f"a{number}"}
        for day in range(1, 4):
            gaps = {str(bucket_of(made.randrange(20_000, 90_000))): made.randrange(1, 2000) for _ in range(5)}
            beats.append(broker | {"day": date(2026, 1, day), "beats": sum(gaps.values()), "gaps": gaps})
            up.append(broker | {"day": date(2026, 1, day), "up_s": made.randrange(86_400_000) / 1000})
    found = []
    for _ in range(2):
        given = Given(spark, {HEARTBEAT_QUALITY: beats, BROKER_AVAILABILITY_DAILY: up})
        rows = conform(detector_tradeoff.build(cast("Inputs", given)), DETECTOR_TRADEOFF)
        found.append(sorted((tuple(row) for row in rows.collect()), key=repr))
        made.shuffle(beats)
        made.shuffle(up)
    assert found[0] == found[1]
    assert len(found[0]) == len(detector_tradeoff.TIMEOUTS_S) + len(detector_tradeoff.PHIS)
