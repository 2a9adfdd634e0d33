"""KV file and settings file are written in order, and waiting writes are combined."""

import asyncio
from functools import partial
from pathlib import Path

from routebook.effects import SaveKv, SaveSettings
from routebook.kv import KvStore
from routebook.server.state.config_saver import ConfigSaver
from routebook.wire.request_bodies import decode_kv_table


def saver(folder: Path, store: KvStore | None = None) -> ConfigSaver:
    store = KvStore() if store is None else store
    return ConfigSaver(kv_path=folder / "kvConfig.json", settings_path=folder / "namesrv.properties", kv=store.image)


def stored(path: Path) -> int:
    """The number in a KV file."""
    return int(decode_kv_table(path.read_bytes())["ns"]["number"] or "")


def test_a_burst_costs_two_writes_and_every_callback_is_called(tmp_path: Path) -> None:
    async def burst() -> list[tuple[int, int]]:
        store = KvStore()
        saves, done = saver(tmp_path, store), list[tuple[int, int]]()

        def on_saved(number: int, error: str | None) -> None:
            assert error is None
            done.append((number, stored(tmp_path / "kvConfig.json")))

        for number in range(200):
            store.put("ns", "number", str(number))
            saves.save(SaveKv(), partial(on_saved, number))
        await saves.close()
        return done

    done = asyncio.run(burst())
    assert [number for number, _ in done] == list(range(200))
    # when a callback is called, its content or a newer one is on disk
    assert all(on_disk >= number for number, on_disk in done)
    assert stored(tmp_path / "kvConfig.json") == 199
    assert stored(tmp_path / "kvConfig.json.bak") == 0  # two writes in total


def test_settings_are_edited_in_place(tmp_path: Path) -> None:
    path = tmp_path / "namesrv.properties"
    path.write_text("# mine\norderMessageEnable=false\nother=1\n")

    async def save() -> list[str | None]:
        saves, done = saver(tmp_path), list[str | None]()
        saves.save(SaveSettings({"orderMessageEnable": "true"}), done.append)
        saves.save(SaveSettings({"enableTopicList": "false"}), done.append)
        await saves.close()
        return done

    assert asyncio.run(save()) == [None, None]
    assert path.read_text() == "# mine\norderMessageEnable=true\nother=1\nenableTopicList=false\n"


def test_an_error_is_passed_to_the_callbacks_of_that_file(tmp_path: Path) -> None:
    (tmp_path / "kvConfig.json").mkdir()

    async def save() -> tuple[list[str | None], list[str | None]]:
        saves, kv, settings = saver(tmp_path), list[str | None](), list[str | None]()
        saves.save(SaveKv(), kv.append)
        saves.save(SaveKv(), kv.append)
        saves.save(SaveSettings({"a": "b"}), settings.append)
        await saves.close()
        return kv, settings

    kv, settings = asyncio.run(save())
    assert all(error is not None and "kvConfig.json: " in error for error in kv)
    assert len(kv) == 2
    assert settings == [None]
