"""A real S3 server on loopback (S3Proxy; objects are files of a folder), killed and started again by tests."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import obstore
from obstore.store import S3Store

from tests.support.free_ports import free_port, is_listening
from tests.support.java import JavaProcess

BUCKET: Final = "bucket"
_PROJECT: Final = Path(__file__).parents[1] / "java" / "s3proxy"
_FLAGS: Final = ("-Xms64m", "-Xmx192m")
_START_S: Final = 120.0
_KEY, _SECRET = "test-key", "test-secret"


class S3Server:
    """One server with a fixed port: `kill` and `start` keep its objects."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._process: JavaProcess | None = None
        (folder / "objects" / BUCKET).mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which S3 clients find the server and authenticate."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
        }

    def url(self, prefix: str) -> str:
        return f"s3://{BUCKET}/{prefix}"

    def names(self, prefix: str) -> list[str]:
        """The keys below a prefix, read from the server's folder."""
        root = self._folder / "objects" / BUCKET
        return sorted(str(path.relative_to(root)) for path in (root / prefix).rglob("*") if path.is_file())

    def start(self) -> None:
        properties = {
            "s3proxy.endpoint": self.endpoint,
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": _KEY,
            "s3proxy.credential": _SECRET,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.identity": "unused",
            "jclouds.credential": "unused",
            "jclouds.filesystem.basedir": self._folder / "objects",
        }
        home = self._folder / "server"
        self._process = JavaProcess(
            "org.gaul.s3proxy.Main",
            home=home,
            properties=properties,
            flags=_FLAGS,
            project=_PROJECT,
            arguments=("--properties", str(home / "settings.properties")),
        )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            assert self._process.process.poll() is None, self._process.output()
            assert time.monotonic() < deadline, "the S3 server did not start"
            time.sleep(0.05)

    def kill(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None

    def _answers(self) -> bool:
        if not is_listening(self.port):
            return False
        store = S3Store(
            BUCKET,
            endpoint=self.endpoint,
            access_key_id=_KEY,
            secret_access_key=_SECRET,
            region="us-east-1",
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )
        try:
            obstore.list(store).collect()
        except Exception:  # noqa: BLE001  obstore derives its exceptions from Exception
            return False
        return True


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """A running server; tests that use it have the mark `java`."""
    server = S3Server(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
