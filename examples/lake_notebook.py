# %% [markdown]
# # A cluster in a notebook
# Open this file as a notebook (VS Code and Jupyter with jupytext do), or run it: `python examples/lake_notebook.py`.
# It needs `pip install "routebook[lake]"` and a running NameServer, such as `routebook up` or `make demo`.

# %%
import os
import sys
from pathlib import Path

SERVER = os.environ.get("SERVER", "http://127.0.0.1:8876")
LAKE = Path(os.environ.get("LAKE", "~/.routebook/lake")).expanduser()
SECONDS = int(os.environ.get("SECONDS", "20"))

# %% [markdown]
# ## Follow a cluster in three lines
# `spark` is any PySpark 4.1 session. The offset of the stream is one sequence number per NameServer.

# %%
from pyspark.sql import SparkSession  # noqa: E402

from routebook.lake.spark.java import java_home  # noqa: E402
from routebook.lake.spark.source import register  # noqa: E402

os.environ.setdefault("JAVA_HOME", str(java_home(os.environ)))
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

# %%
register(spark)
events = spark.readStream.format("routebook").option("server", SERVER).load()
changes = events.where("kind LIKE 'broker_%'").select("at", "kind", "cluster", "broker", "addr", "reason")

# %%
query = changes.writeStream.format("console").option("truncate", "false").start()
query.awaitTermination(SECONDS)
query.stop()

# %% [markdown]
# ## The same as a table
# A batch read returns the events that exist now, from a server or from journal folders (`.load("…/journal")`).

# %%
table = spark.read.format("routebook").schema("kind string, seq bigint").option("server", SERVER).load()
table.groupBy("kind").count().orderBy("kind").show(truncate=False)
spark.stop()

# %% [markdown]
# ## Query the lake without Spark
# DuckDB reads the Iceberg tables that `routebook up` keeps up to date; any engine that supports Iceberg can.

# %%
from routebook.lake.errors import LakeError  # noqa: E402
from routebook.lake.read.open import open_lake  # noqa: E402

try:
    lake = open_lake(LAKE)
except LakeError as error:
    sys.exit(str(error))
result = lake.query(
    "SELECT broker, addr, started_at, end_reason FROM broker_sessions ORDER BY started_at DESC LIMIT 10"
)
for row in result.objects():
    print(row)  # noqa: T201
