"""Metrics of a Controller node, from a real service on SQLite."""

from pathlib import Path

from prometheus_client.metrics_core import Metric

from routebook.controller.machine import Machine
from routebook.controller.overview import NodeOverview
from routebook.controller.record import Origin
from routebook.server.http.views.controller_metrics import controller_metrics
from routebook.server.observe.controller_meter import ControllerMeter
from routebook.wire.command import Command, Reply
from tests.unit.server.controller.test_service import Bench, in_sync_pair, run


class Part:
    """The part of a node that metrics read."""

    def __init__(self, bench: Bench) -> None:
        self.machine: Machine = bench.service.machine
        self.meter: ControllerMeter = bench.service.meter
        self.etcd_problems = {("http://h0:2379", "slow"): 2}

    def overview(self) -> NodeOverview:
        return NodeOverview(
            group="g1",
            node="n0",
            address="h0:9878",
            engine="sqlite",
            is_leader=True,
            leader="n0 at h0:9878",
            peers=[],
            problem=None,
            unclean_elections=False,
            live_brokers=1,
        )

    async def ask(self, command: Command, origin: Origin) -> Reply:
        raise NotImplementedError


def values(metrics: list[Metric]) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for metric in metrics
        for sample in metric.samples
        if not sample.name.endswith(("_bucket", "_sum", "_created"))
    }


def test_sets_commits_and_elections_are_counted(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await in_sync_pair(bench)
        bench.service.connection_lost(1)
        await bench.settled()
        bench.service.meter.answered(1002, 0, 0)
        bench.service.meter.answered(1001, 2013, 0)
        bench.service.meter.answered(77, 3, 0)
        found = values(list(controller_metrics(Part(bench), bench.now_ms)))
        expected = {
            ("routebook_controller_leader",): 1,
            ("routebook_controller_leader_known",): 1,
            ("routebook_controller_etcd_problems_total", "http://h0:2379", "slow"): 2,
            ("routebook_controller_sets", "with_master"): 1,
            ("routebook_controller_sets", "without_master"): 0,
            ("routebook_controller_live_brokers", "C"): 1,
            ("routebook_controller_replicas_out_of_sync",): 1,
            ("routebook_controller_elections_total", "new_master_elected", "first"): 1,
            ("routebook_controller_elections_total", "new_master_elected", "closed"): 1,
            ("routebook_controller_commits_total", "committed"): 5,
            ("routebook_controller_commit_seconds_count",): 5,
            ("routebook_controller_requests_total", "controller_elect_master", "success"): 1,
            (
                "routebook_controller_requests_total",
                "controller_alter_sync_state_set",
                "alter_sync_state_set_failed",
            ): 1,
            ("routebook_controller_requests_total", "other", "request_code_not_supported"): 1,
        }
        assert expected.items() <= found.items()

    run(tmp_path, body)
