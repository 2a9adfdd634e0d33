"""The `--http` option, and a client that sends the keys of the environment."""

import os
from typing import Final

from routebook.cli.framework import option
from routebook.cli.nameservers import ACCESS_KEY, SECRET_KEY
from routebook.client.http import DEFAULT_URL, HttpClient, basic_authorization

_LOCAL_HOSTS: Final = ("127.0.0.1", "::1", "localhost")

http_option = option("--http", metavar="URL", help=f"HTTP port of a running server [{DEFAULT_URL}].")


def open_http(url: str) -> HttpClient:
    """Return a client. It sends the secret key itself, so only over TLS or to this machine."""
    client = HttpClient(url)
    access_key, secret_key = os.environ.get(ACCESS_KEY), os.environ.get(SECRET_KEY)
    if access_key and secret_key and (client.is_tls or client.host in _LOCAL_HOSTS):
        client.headers |= basic_authorization(access_key, secret_key)
    return client
