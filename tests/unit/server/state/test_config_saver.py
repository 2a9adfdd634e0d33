"""KV and settings on disk, in order, together."""

import asyncio
from functools import partial
from pathlib import Path

from routebook.effects import SaveKv, SaveSettings
from routebook.server.state.config_saver import ConfigSaver


def saver(folder: Path) -> ConfigSaver:
    return ConfigSaver(kv_path=folder / "kvConfig.json", settings_path=folder / "namesrv.properties")


def test_a_burst_is_written_together_and_everybody_is_told(tmp_path: Path) -> None:
    async def burst() -> list[tuple[int, bytes]]:
        saves, told = saver(tmp_path), list[tuple[int, bytes]]()

        def note(number: int, wrong: str | None) -> None:
            assert wrong is None
            told.append((number, (tmp_path / "kvConfig.json").read_bytes()))

        for number in range(200):
            saves.save(SaveKv(b"%d" % number), partial(note, number))
        await saves.close()
        return told

    told = asyncio.run(burst())
    assert [number for number, _ in told] == list(range(200))
    # when somebody is told, what they saved, or something newer, is on disk
    assert all(int(on_disk) >= number for number, on_disk in told)
    assert (tmp_path / "kvConfig.json").read_bytes() == b"199"
    assert (tmp_path / "kvConfig.json.bak").read_bytes() == b"0"  # two writes for all of them


def test_settings_are_edited_in_place(tmp_path: Path) -> None:
    path = tmp_path / "namesrv.properties"
    path.write_text("# mine\norderMessageEnable=false\nother=1\n")

    async def save() -> list[str | None]:
        saves, told = saver(tmp_path), list[str | None]()
        saves.save(SaveSettings({"orderMessageEnable": "true"}), told.append)
        saves.save(SaveSettings({"enableTopicList": "false"}), told.append)
        await saves.close()
        return told

    assert asyncio.run(save()) == [None, None]
    assert path.read_text() == "# mine\norderMessageEnable=true\nother=1\nenableTopicList=false\n"


def test_what_goes_wrong_is_told_to_those_whom_it_concerns(tmp_path: Path) -> None:
    (tmp_path / "kvConfig.json").mkdir()

    async def save() -> tuple[list[str | None], list[str | None]]:
        saves, kv, settings = saver(tmp_path), list[str | None](), list[str | None]()
        saves.save(SaveKv(b"x"), kv.append)
        saves.save(SaveKv(b"y"), kv.append)
        saves.save(SaveSettings({"a": "b"}), settings.append)
        await saves.close()
        return kv, settings

    kv, settings = asyncio.run(save())
    assert all(wrong is not None and "kvConfig.json: " in wrong for wrong in kv)
    assert len(kv) == 2
    assert settings == [None]
