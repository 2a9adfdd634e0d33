"""Journals over HTTP: the list of finished segments, ranges of them, and `routebook journal mirror`."""

from pathlib import Path

import httpx

from routebook.archive.store import ArchiveStore
from routebook.lake.config import lake_config
from routebook.lake.journal_sources import folders_of
from tests.e2e.test_archive import events
from tests.support.process import Process, serving


def test_finished_segments_are_mirrored_into_an_archive(tmp_path: Path) -> None:
    home, url = tmp_path / "home", f"file://{tmp_path}/archive"
    with serving(home) as ns:  # a restart finishes the segment of the process before
        assert ns.stop() == 0
    with serving(home, http="127.0.0.1:0") as ns:
        http = ns.wait_until_http()
        listed = httpx.get(f"{http}/v1/journal").json()
        (segment,) = listed["segments"]
        whole = httpx.get(f"{http}/v1/journal/{segment['name']}")
        assert whole.content == (home / "journal" / segment["name"]).read_bytes()
        assert len(whole.content) == segment["size"]
        part = httpx.get(f"{http}/v1/journal/{segment['name']}", headers={"range": "bytes=5-9"})
        assert (part.status_code, part.content) == (206, whole.content[5:10])
        assert part.headers["content-range"] == f"bytes 5-9/{segment['size']}"
        outside = httpx.get(f"{http}/v1/journal/{segment['name']}", headers={"range": f"bytes={segment['size']}-"})
        assert outside.status_code == 416
        for name in ("..%2Fidentity.json", "reserved.json", f"{2:020}.jsonl"):
            assert httpx.get(f"{http}/v1/journal/{name}").status_code == 404

        for expected in ("1", "0"):  # the second time there is nothing to copy
            mirror = Process("journal", "mirror", http, "--to", url)
            assert mirror.wait() == 0, mirror.log
            assert mirror.out.split()[-2] == expected
        (folder,) = folders_of(http, lake_config(tmp_path / "lake"))  # what `lake build --journal HTTP` reads
        assert folder == f"{tmp_path}/lake/journals/{listed['ns']}"
        assert [file.read_bytes() for file in Path(folder).iterdir()] == [whole.content]
        assert ns.stop() == 0
    (name,) = ArchiveStore(url).nameservers()
    assert name == listed["ns"]
    seen = events(tmp_path / "archive" / name)
    assert seen == events(home / "journal")[: len(seen)]
