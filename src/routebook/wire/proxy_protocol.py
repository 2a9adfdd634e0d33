r"""Decodes the PROXY header that a load balancer sends first on a connection, as Netty does.

v1   PROXY TCP4|TCP6 source destination port port \r\n      or  PROXY UNKNOWN anything \r\n
v2   signature 12 | version 4 bits, command 4 bits | family and transport 8 | length 16 | addresses | TLVs
"""

from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final, NamedTuple

from routebook.errors import ProtocolError

_SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_V1_MAX_LINE: Final = 108  # without the line end; Java: HAProxyMessageDecoder.V1_MAX_LENGTH
_V2_MAX_BYTES: Final = 16 << 10  # Java: 65,551; load balancers send some hundred bytes
_TLV_SSL: Final = 0x20
_TLV_MAX_DEPTH: Final = 128

# family and transport → bytes of both addresses and ports
_IPV4, _IPV6, _UNIX = 12, 36, 216
_ADDRESS_LENGTHS: Final = {0x11: _IPV4, 0x12: _IPV4, 0x21: _IPV6, 0x22: _IPV6, 0x31: _UNIX, 0x32: _UNIX}


class ProxyHeader(NamedTuple):
    """The size of the header (0: none), and the address of the client, if it is given."""

    length: int
    source: str | None = None


NO_HEADER: Final = ProxyHeader(0)


def read_proxy_header(data: bytes | bytearray) -> ProxyHeader | None:
    """The header at the start of a connection; None if more bytes are needed.

    Java: waits for the first 12 bytes in any case, and decides then.
    """
    if len(data) < len(_SIGNATURE):
        return None
    if data.startswith(_SIGNATURE):
        return _read_v2(data)
    if data.startswith(b"PROXY"):
        return _read_v1(bytes(data[: _V1_MAX_LINE + 2]))
    return NO_HEADER


def _read_v1(data: bytes) -> ProxyHeader | None:
    end = data.find(b"\r\n")
    if end < 0:
        if len(data) > _V1_MAX_LINE:
            raise ProtocolError(f"PROXY line of more than {_V1_MAX_LINE} bytes")
        return None
    words = data[:end].decode("latin-1").rstrip(" ").split(" ")
    if len(words) < 2 or words[0] != "PROXY" or words[1] not in ("TCP4", "TCP6", "UNKNOWN"):
        raise ProtocolError("PROXY line that names neither TCP4, TCP6 nor UNKNOWN")
    if words[1] == "UNKNOWN":
        return ProxyHeader(end + 2)
    if len(words) != 6:
        raise ProtocolError(f"PROXY line of {len(words)} words instead of 6")
    address = _host(words[2], words[1])
    _host(words[3], words[1])
    port = _port(words[4])
    _port(words[5])
    return ProxyHeader(end + 2, f"{address}:{port}")


def _host(text: str, family: str) -> str:
    try:
        return str(_ipv4(text)) if family == "TCP4" else f"[{IPv6Address(text)}]"
    except AddressValueError:
        raise ProtocolError(f"PROXY line with a {family} address that is invalid") from None


def _ipv4(text: str) -> IPv4Address:
    # Netty: accepts leading zeros and reads them as decimal
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        raise AddressValueError(text)
    return IPv4Address(".".join(str(int(part)) for part in parts))


def _port(text: str) -> int:
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and 0 < int(digits) < 0x10000):
        raise ProtocolError("PROXY line with an invalid port")
    return int(digits)


def _read_v2(data: bytes | bytearray) -> ProxyHeader | None:
    if len(data) < 16:
        return None
    version, command = data[12] >> 4, data[12] & 0xF
    length = 16 + int.from_bytes(data[14:16], "big")
    if length > _V2_MAX_BYTES:
        raise ProtocolError(f"PROXY header of {length} bytes (at most {_V2_MAX_BYTES})")
    if len(data) < length:
        return None
    data = bytes(data[:length])
    if version != 2 or command > 1:
        raise ProtocolError(f"PROXY header of version {version} with command {command}")
    family = data[13]
    if command == 0 or family == 0:  # LOCAL or unknown: a connection of the load balancer itself
        return ProxyHeader(length)
    if family not in _ADDRESS_LENGTHS:
        raise ProtocolError(f"PROXY header of unknown family 0x{family:02x}")
    addresses = data[16 : 16 + _ADDRESS_LENGTHS[family]]
    if len(addresses) < _ADDRESS_LENGTHS[family] or length < 16 + _ADDRESS_LENGTHS[family]:
        raise ProtocolError(f"PROXY header too short for its addresses ({length - 16} bytes)")
    _check_tlvs(data[16 + len(addresses) : length], depth=0)
    return ProxyHeader(length, _source(addresses))


def _source(addresses: bytes) -> str | None:
    """Java: uses the source only together with a port, so not for UNIX sockets."""
    if len(addresses) == _UNIX:
        return None
    port = int.from_bytes(addresses[-4:-2], "big")
    if port == 0:
        return None
    if len(addresses) == _IPV4:
        return f"{IPv4Address(addresses[:4])}:{port}"
    return f"[{IPv6Address(addresses[:16])}]:{port}"


def _check_tlvs(data: bytes, *, depth: int) -> None:
    """Skip TLVs; one that extends beyond the header is an error, and fewer than 4 bytes are padding."""
    if depth > _TLV_MAX_DEPTH:
        raise ProtocolError("PROXY header with TLVs nested too deep")
    at = 0
    while len(data) - at >= 4:
        end = at + 3 + int.from_bytes(data[at + 1 : at + 3], "big")
        if end > len(data):
            raise ProtocolError("PROXY header with a TLV that extends beyond it")
        if data[at] == _TLV_SSL:
            if end - at < 8:
                raise ProtocolError("PROXY header with a short TLS TLV")
            _check_tlvs(data[at + 8 : end], depth=depth + 1)
        at = end
