"""With many NameServers, conditions per NameServer are look-ups; they select the same rows."""

from datetime import date, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from routebook.lake.build.silver.observed import STEP as OBSERVED
from routebook.lake.build.window import by_ns, where_ns
from tests.support.bronze import from_lines
from tests.support.lake import numbered
from tests.support.lake_refresh import refreshed

NAMES = [f"nämesrv-{number}" for number in range(100)]


def test_each_nameserver_has_its_own_value(spark: SparkSession) -> None:
    values = {ns: number for number, ns in enumerate(NAMES)}
    days = {ns: date(2026, 1, 1) + timedelta(days=number) for ns, number in values.items()}
    rows = spark.createDataFrame(
        [(ns, seq) for ns in [*NAMES, "unknown"] for seq in (0, 50, 200)], "ns string, seq int"
    )
    found = rows.select("ns", by_ns(values), by_ns(days)).distinct().collect()
    assert {row[0]: (row[1], row[2]) for row in found} == {
        **{ns: (values[ns], days[ns]) for ns in NAMES},
        "unknown": (None, None),
    }
    after = where_ns(values, lambda seq: fn.col("seq") >= seq)
    before = where_ns(values, lambda seq: fn.col("seq") < seq, loosest=max)
    for ns, seq, is_after, is_before in rows.select("*", after, before).collect():
        assert is_after == (ns in values and seq >= values[ns])
        assert is_before == (ns in values and seq < values[ns])


def test_incremental_refreshes_of_many_nameservers_equal_a_full_one(spark: SparkSession) -> None:
    lines = {ns: numbered(ns, range(1, 4 + number % 3)) for number, ns in enumerate(NAMES[:20])}
    first = [line for own in lines.values() for line in own[:2]]
    rest = [line for own in lines.values() for line in own[2:]]
    full = refreshed([OBSERVED], [from_lines(spark, first + rest)])
    incremental = refreshed([OBSERVED], [from_lines(spark, first), from_lines(spark, rest)])
    expected, found = (sorted(map(str, tables["observed"].collect())) for tables in (full, incremental))
    assert len(expected) == 20
    assert found == expected
