"""Types of setting values: each parses a text and describes what it accepts."""

import re
from ipaddress import ip_network
from typing import Final, TypeAlias

import msgspec

Value: TypeAlias = bool | int | str

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_BRACKETED: Final = re.compile(r"\[[^][]+\]")
_NOT_IN_A_HOST: Final = re.compile(r"[][:\s]")


class Flag(msgspec.Struct, frozen=True):
    """true or false."""

    expects: str = "true or false"

    def parse(self, text: str) -> bool:
        # Java: anything but "true" is false; here a typing error does not switch a feature off
        if text.lower() not in {"true", "false"}:
            raise ValueError(self.expects)
        return text.lower() == "true"


class Whole(msgspec.Struct, frozen=True):
    """A whole number within a range."""

    min: int = -INT_MAX - 1
    max: int = INT_MAX

    @property
    def expects(self) -> str:
        return f"a whole number from {self.min} to {self.max}"

    def parse(self, text: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(text) or not self.min <= int(text) <= self.max:
            raise ValueError(self.expects)
        return int(text)


class OneOf(msgspec.Struct, frozen=True):
    """One of a few words, in upper or lower case; stored as listed."""

    words: tuple[str, ...]

    @property
    def expects(self) -> str:
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}"

    def parse(self, text: str) -> str:
        for word in self.words:
            if word.lower() == text.lower():
                return word
        raise ValueError(self.expects)


class Text(msgspec.Struct, frozen=True):
    """Any text."""

    expects: str = "text"

    def parse(self, text: str) -> str:
        return text


class NonEmpty(msgspec.Struct, frozen=True):
    """Any text that is not empty."""

    expects: str = "text, not empty"

    def parse(self, text: str) -> str:
        if not text:
            raise ValueError(self.expects)
        return text


class SomeOf(msgspec.Struct, frozen=True):
    """Words of a fixed set, separated by commas; may be empty."""

    words: tuple[str, ...]

    @property
    def expects(self) -> str:
        return f"some of {', '.join(self.words)}, separated by commas"

    def parse(self, text: str) -> str:
        given = [word.strip() for word in text.split(",") if word.strip()]
        if not set(given) <= set(self.words):
            raise ValueError(self.expects)
        return ",".join(given)


class Addresses(msgspec.Struct, frozen=True):
    """HOST:PORT, several separated by semicolons, or empty."""

    expects: str = "HOST:PORT[;HOST:PORT]"

    def parse(self, text: str) -> str:
        for address in text.split(";") if text else ():
            host, colon, port = address.strip().rpartition(":")
            if not (host and colon and _is_port(port)):
                raise ValueError(self.expects)
        return text


class Peers(msgspec.Struct, frozen=True):
    """HOST:PORT of other NameServers, with /HTTP-PORT for Routebooks, separated by commas; or empty."""

    expects: str = "HOST:PORT or HOST:PORT/HTTP-PORT, separated by commas"

    def parse(self, text: str) -> str:
        for peer in text.split(",") if text else ():
            address, slash, http_port = peer.strip().partition("/")
            host, _, port = address.rpartition(":")
            if not (host and _is_port(port) and (not slash or _is_port(http_port))):
                raise ValueError(self.expects)
        return text


class Networks(msgspec.Struct, frozen=True):
    """Addresses and networks, separated by commas, or empty."""

    expects: str = "10.1.0.0/16 or 10.1.2.3, separated by commas"

    def parse(self, text: str) -> str:
        for network in text.split(",") if text else ():
            try:
                ip_network(network.strip())
            except ValueError:
                raise ValueError(self.expects) from None
        return text


class ListenAddress(msgspec.Struct, frozen=True):
    """HOST:PORT to listen on, or off."""

    expects: str = "HOST:PORT with a port from 0 to 65535, [HOST]:PORT for IPv6, or off"

    def parse(self, text: str) -> str:
        if text.lower() == "off":
            return "off"
        host, _, port = text.rpartition(":")
        named = _BRACKETED.fullmatch(host) or (host and not _NOT_IN_A_HOST.search(host))
        if not (named and port.isascii() and port.isdigit() and int(port) < 65536):
            raise ValueError(self.expects)
        return text


Type: TypeAlias = Flag | Whole | OneOf | SomeOf | Text | NonEmpty | Addresses | Networks | Peers | ListenAddress


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65536
