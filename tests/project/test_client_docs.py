"""The examples of docs/client.md print what the page shows."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from routebook.client import NameServerCalls, NameServerClient
from routebook.model import DataVersion, RegisterBody, Registration, TopicConfig
from tests.support.asynchronous import asynchronous
from tests.support.process import serving

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
ORDERS = Registration(
    cluster="shop",
    broker="broker-a",
    addr="10.0.0.1:10911",
    broker_id=0,
    ha_addr=None,
    timeout_ms=None,
    acting_master=False,
    zone=None,
    body=RegisterBody(
        topics=(
            TopicConfig(topic_name="orders", read_queue_nums=4, write_queue_nums=3),
            TopicConfig(topic_name="other"),
        ),
        data_version=DataVersion(counter=1, state_version=0, timestamp=1),
        mappings={},
        filter_servers=(),
    ),
)


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
@asynchronous
async def test_an_example_prints_what_the_page_says(code: str, output: str, tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        address = "{}:{}".format(*process.address)
        async with NameServerClient(address, timeout_s=20) as client:
            await client.register_broker(ORDERS)
            example = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                code.replace("127.0.0.1:9876", address),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            printed, errors = await example.communicate()
    assert errors.decode() == ""
    assert printed.decode().replace(address, "127.0.0.1:9876") == output


def test_every_example_of_the_page_is_run() -> None:
    assert len(EXAMPLES) == PAGE.read_text().count("```python") == 4


def test_every_method_is_named_on_the_page() -> None:
    methods = [name for name in vars(NameServerCalls) if not name.startswith("_")]
    missing = [name for name in methods if f"`{name}`" not in PAGE.read_text() and name not in {"ask", "tell"}]
    assert not missing
