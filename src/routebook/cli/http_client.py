"""The HTTP port of a running server, as commands use it: the `--http` option and credentials from the environment."""

import os
from typing import Annotated, Final, TypeAlias

from routebook.cli.environment import ACCESS_KEY, SECRET_KEY
from routebook.cli.parameters import Option
from routebook.client.http import DEFAULT_URL, HttpClient, basic_authorization

_LOCAL_HOSTS: Final = ("127.0.0.1", "::1", "localhost")

Http: TypeAlias = Annotated[
    str | None, Option(("--http",), f"The HTTP port of a running server [{DEFAULT_URL}].", "URL")
]


def open_http(url: str) -> HttpClient:
    """A client that sends the keys of the environment, over TLS or to this machine only."""
    client = HttpClient(url)
    access_key, secret_key = os.environ.get(ACCESS_KEY), os.environ.get(SECRET_KEY)
    if access_key and secret_key and (client.is_tls or client.host in _LOCAL_HOSTS):
        client.headers |= basic_authorization(access_key, secret_key)
    return client
