"""A Spark process with one lake: runs commands from stdin and prints their durations.

    python -m benchmarks.suite.lake_worker MASTER LAKE JOURNAL…

`parse` reads all segments with the declared schema and discards them, `build` builds the tables. Each prints a line of
JSON. The process uses no more processors than the master allows, also for planning and compiling.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from routebook.lake.build.bronze.parse import JSON_OPTIONS, json_schema
from routebook.lake.build.outcome import Stage
from routebook.lake.build.pipeline import Pipeline
from routebook.lake.build.steps import STEPS
from routebook.lake.spark.session import SessionOptions, open_session


class Stages:
    """Wall-clock time and CPU time (Spark and Python) of each stage."""

    def __init__(self, spark: SparkSession) -> None:
        gateway: Any = spark.sparkContext._gateway
        self._spark = Path(f"/proc/{gateway.proc.pid}/stat")
        self._name = ""
        self._since = (0.0, 0.0)
        self.seconds: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def __call__(self, stage: Stage) -> None:
        self.turn(stage.name)

    def now(self) -> tuple[float, float]:
        ticks = self._spark.read_text().rpartition(")")[2].split()[11:13]  # user's and system's
        return time.monotonic(), time.process_time() + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def turn(self, name: str) -> None:
        """End the current stage and begin the next."""
        now = self.now()
        if self._name:
            for totals, end, begin in zip((self.seconds, self.cpu), now, self._since, strict=True):
                totals[self._name] = totals.get(self._name, 0.0) + end - begin
        self._name, self._since = name, now


def main(master: str, lake: str, *journals: str) -> int:
    began = time.monotonic()
    if master.startswith("local"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: _cores(master)])
    conf = json.loads(os.environ.get("LAKE_CONF", "{}"))
    spark = open_session(SessionOptions(lake=lake, master=master, conf=conf))
    stages = Stages(spark)
    pipeline = Pipeline(spark, lake, STEPS, stages)
    _print_json(seconds=time.monotonic() - began)
    for line in sys.stdin:
        begun = stages.now()
        extra: dict[str, object] = {}
        if line.strip() == "parse":
            reader = spark.read.schema(json_schema()).options(**JSON_OPTIONS)
            reader.json([f"{one}/*.jsonl.zst" for one in journals]).write.format("noop").mode("overwrite").save()
        else:
            stages.seconds, stages.cpu = {}, {}
            outcome = pipeline.build(journals)
            stages.turn("")
            extra = {"stages": stages.seconds, "stages_cpu": stages.cpu, "events": outcome.counts.events}
            extra["heap"] = _heap_peak(spark)
        seconds, cpu = (end - begin for end, begin in zip(stages.now(), begun, strict=True))
        _print_json(seconds=seconds, cpu=cpu, **extra)
    spark.stop()
    return 0


def _heap_peak(spark: SparkSession) -> int:
    """The sum of the peaks of the heap's parts, in bytes: an upper bound of the peak."""
    pools = _beans(spark).getMemoryPoolMXBeans()
    return sum(int(one.getPeakUsage().getUsed()) for one in pools if str(one.getType().name()) == "HEAP")


def _beans(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.java.lang.management.ManagementFactory


def _cores(master: str) -> int:
    return int(master.removeprefix("local[").removesuffix("]"))


def _print_json(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
