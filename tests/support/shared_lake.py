"""A lake in S3 with its catalog in PostgreSQL, both from real servers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.lake_processes import LIMIT_S
from tests.support.postgres import PASSWORD, USER, PostgresServer, postgres_server
from tests.support.s3_server import S3Server, s3_server


class SharedLake(NamedTuple):
    """The servers, the lake.toml and the environment of its processes."""

    s3: S3Server
    postgres: PostgresServer
    file: Path
    variables: dict[str, str]

    @property
    def journals(self) -> str:
        """The URL of the archive."""
        return self.s3.url("journals")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `routebook lake …` in its own process group, which includes Spark's driver."""
        command = [sys.executable, "-m", "routebook", "lake", *arguments, "--lake", str(self.file)]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.variables},
            start_new_session=True,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@contextmanager
def shared_lake(folder: Path) -> Iterator[SharedLake]:
    """Both servers, and a lake.toml. The lake is empty."""
    with s3_server(folder / "s3") as s3, postgres_server(folder / "postgres") as postgres:
        file = folder / "lake.toml"
        file.write_text(
            f'location = "{s3.url("lake")}"\n'
            f'[catalog]\ntype = "postgresql"\nuri = "postgresql://{postgres.address}/postgres"\n'
            f'user = "{USER}"\npassword = {{ env = "LAKE_PASSWORD" }}\n'
            f'[store]\nendpoint = "{s3.endpoint}"\nregion = "us-east-1"\npath_style = true\n'
        )
        variables = {**s3.environment, "LAKE_PASSWORD": PASSWORD, "XDG_STATE_HOME": str(folder / "state")}
        yield SharedLake(s3, postgres, file, variables)
