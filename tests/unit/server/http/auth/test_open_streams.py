"""Streams end with the identity that opened them, and only then."""

import asyncio
from pathlib import Path

import pytest

from routebook.server.access.identities_file import IdentitiesFile
from routebook.server.http.auth.open_streams import OpenStreams
from tests.support.asynchronous import asynchronous
from tests.support.http import rig
from tests.support.signing import IDENTITIES, identities_file


@asynchronous
async def test_only_streams_of_changed_identities_end(tmp_path: Path) -> None:
    file = IdentitiesFile(identities_file(tmp_path / "ids.toml", f'anonymous = ["route_read"]\n{IDENTITIES}'))
    with rig() as some:
        some.context.access = file
        streams, forever = OpenStreams(some.context), asyncio.Event()
        identities = [
            file.identities.by_name("ops"),
            file.identities.by_name("client"),
            file.identities.anonymous,
            None,
        ]
        tasks = [asyncio.create_task(streams.serve(identity, _wait(forever))) for identity in identities]
        await asyncio.sleep(0)
        text = IDENTITIES.replace("secret-of-ops", "another-secret")
        identities_file(tmp_path / "ids.toml", f'anonymous = ["route_read"]\n{text}')
        assert file.reload() is not None
        streams.revoke()  # a second call changes nothing
        assert await tasks[0] is False
        assert not any(task.done() for task in tasks[1:])
        forever.set()
        assert await asyncio.gather(*tasks[1:]) == [True] * 3


@asynchronous
async def test_another_cancellation_is_not_a_revocation(tmp_path: Path) -> None:
    with rig() as some:
        some.context.access = file = IdentitiesFile(identities_file(tmp_path / "ids.toml"))
        streams = OpenStreams(some.context)
        task = asyncio.create_task(streams.serve(file.identities.by_name("ops"), _wait(asyncio.Event())))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def _wait(event: asyncio.Event) -> None:
    await event.wait()
