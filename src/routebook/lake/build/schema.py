"""Spark schemas of declared tables, and data frames that conform to them."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType

from routebook.lake.tables.table import Table


def schema(table: Table) -> StructType:
    """The columns of a table as a Spark schema."""
    parsed = StructType.fromDDL(table.ddl)
    if not isinstance(parsed, StructType):
        raise TypeError(f"{table.path}: {table.ddl!r} is not a column list")
    return parsed


def empty_frame(spark: SparkSession, table: Table) -> DataFrame:
    """A frame without rows. The optimizer knows that it is empty and prunes whatever is computed from it."""
    columns = (fn.lit(None).cast(field.dataType).alias(field.name) for field in schema(table).fields)
    return spark.range(1).where(fn.lit(False)).select(*columns)


def conform(rows: DataFrame, table: Table) -> DataFrame:
    """Exactly the declared columns, in their declared order and with their declared types."""
    return rows.select(*(fn.col(field.name).cast(field.dataType).alias(field.name) for field in schema(table).fields))
