"""What a NameServer does by itself, Routebook beside Java: notices to brokers (905), expiry of silent brokers."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.support.differential.endpoint import Endpoint
from tests.support.differential.notices import play
from tests.support.differential.servers import java, routebook
from tests.support.differential.steps import Register, Topic

pytestmark = [pytest.mark.java, pytest.mark.slow]

EXPIRY_TIMEOUT_S: Final = 120.0  # a timeout of 1 s, and a scan every 5 s


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Endpoint, Endpoint]]:
    folder: Path = tmp_path_factory.mktemp("servers")
    with java(folder) as reference, routebook(folder) as subject:
        yield reference, subject


@pytest.mark.parametrize("acting", [True, False])
def test_brokers_receive_the_same_notices_about_the_lowest_id(both: tuple[Endpoint, Endpoint], acting: bool) -> None:
    with ThreadPoolExecutor() as pool:
        reference, subject = pool.map(partial(play, acting=acting, tag=f"n{acting:d}"), both)
    assert subject == reference
    assert any(notices for _, notices in reference)


def test_a_silent_broker_expires_and_its_connection_closes(both: tuple[Endpoint, Endpoint]) -> None:
    silent = Register(
        conn="silent",
        cluster="c@@",
        broker="b@@",
        addr="127.0.0.1:1",
        broker_id=0,
        topics=(Topic(name="t0@@"), Topic(name="t1@@")),
        extra={"heartbeatTimeoutMillis": "1000"},
    )
    for endpoint in both:
        endpoint.reset()
        answer = endpoint.exchange("silent", silent.data("zz"), expect="answer")
        assert [reply.code for reply in answer.replies] == [0]
    deadline = time.monotonic() + EXPIRY_TIMEOUT_S
    for endpoint in both:
        assert endpoint.is_closed("silent", timeout_s=deadline - time.monotonic())
        assert endpoint.until(endpoint.is_empty)
