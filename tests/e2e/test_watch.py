"""`routebook watch` beside a real server that is stopped and started again: nothing is missed, nothing comes twice."""

import json
import signal
from pathlib import Path

from routebook.client.client import NameServerClient
from tests.support.asynchronous import asynchronous
from tests.support.process import Process, serving


@asynchronous
async def test_watch_survives_a_restart_of_the_server(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as first:
        url, port = first.wait_until_http(), first.port
        watcher = Process("watch", "--http", url, "--after", "0", "--json")
        try:
            watcher.wait_for_out('"kind":"server_started"')
            async with NameServerClient(f"127.0.0.1:{port}") as client:
                await client.put_kv("n", "1", "v")
            watcher.wait_for_out('"key":"1"')
            first.stop()
            watcher.wait_for_log("waiting for it to return|closed the connection|lost the connection")
            http = url.removeprefix("http://")
            with serving(tmp_path, listen=f"127.0.0.1:{port}", http=http) as second:
                watcher.wait_for_log("the server was restarted")
                async with NameServerClient(f"127.0.0.1:{second.port}") as client:
                    await client.put_kv("n", "2", "v")
                watcher.wait_for_out('"key":"2"')
            watcher.send(signal.SIGINT)
            assert watcher.wait() == 0
        finally:
            watcher.kill()
    seen = [json.loads(line) for line in watcher.out.splitlines()]
    assert [record["seq"] for record in seen] == sorted({record["seq"] for record in seen})
    kinds = [record["kind"] for record in seen if not record["kind"].endswith(("_minute", "_hole"))]
    wanted = ["server_started", "kv_changed", "server_stopped", "server_started", "kv_changed"]
    assert kinds[: len(wanted)] == wanted
