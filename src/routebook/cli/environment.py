"""Names of variables that commands read, beside the server's settings."""

from typing import Final

ACCESS_KEY: Final = "ROCKETMQ_ACCESS_KEY"
SECRET_KEY: Final = "ROCKETMQ_SECRET_KEY"  # noqa: S105 - the name of a variable
