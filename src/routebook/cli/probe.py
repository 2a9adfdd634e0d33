"""Probes of brokers and NameServers over TCP and TLS, for `doctor`."""

import asyncio
import ssl
from typing import Final

import msgspec

from routebook.client.addresses import Address, parse_address
from routebook.client.dial import open_link
from routebook.client.link import Link
from routebook.client.tls import unverified_tls
from routebook.codes import RequestCode
from routebook.doctor import ObservedBroker, ObservedNameServer
from routebook.errors import ConnectionFailed, UsageError
from routebook.wire.command import Command

_GET_BROKER_RUNTIME_INFO: Final = 28


class _RuntimeInfo(msgspec.Struct):
    table: dict[str, str | None] = {}


async def probe_broker(addr: str, *, timeout_s: float, tls: ssl.SSLContext | None) -> ObservedBroker:
    """Connect and request the runtime info; the header of any response carries the version."""
    try:
        address = parse_address(addr)
    except UsageError:
        return ObservedBroker(failure="is not an address")
    try:
        link = await open_link(address, connect_timeout_s=timeout_s, tls=tls)
    except ConnectionFailed as failure:
        return ObservedBroker(failure=failure.why)
    try:
        answer = await _ask(link, _GET_BROKER_RUNTIME_INFO, timeout_s)
    except ConnectionFailed as failure:
        return ObservedBroker(unresponsive=failure.why)
    except TimeoutError:
        return ObservedBroker(unresponsive=f"did not answer within {timeout_s:g} s")
    finally:
        await link.aclose()
    return ObservedBroker(version=answer.version, boot_ms=_boot_ms(answer.body))


async def probe_nameserver(address: Address, *, timeout_s: float, tls: ssl.SSLContext | None) -> ObservedNameServer:
    """Read the version, whether TLS works, and when the certificate expires."""
    who, local = str(address), _is_local(address)
    try:
        link = await open_link(address, connect_timeout_s=timeout_s, tls=tls)
        try:
            answer = await _ask(link, RequestCode.GET_BROKER_CLUSTER_INFO, timeout_s)
        finally:
            await link.aclose()
    except ConnectionFailed as failure:
        return ObservedNameServer(who=who, local=local, failure=str(failure))
    except TimeoutError:
        return ObservedNameServer(who=who, local=local, failure=f"{who}: did not answer within {timeout_s:g} s")
    certificate = await _certificate(address, timeout_s)
    until_ms = None if certificate is None else _expiry_ms(certificate)
    return ObservedNameServer(
        who=who,
        local=local,
        version=answer.version,
        tls=certificate is not None,
        certificate_until_ms=until_ms,
    )


async def _ask(link: Link, code: int, timeout_s: float) -> Command:
    async with asyncio.timeout(timeout_s):
        return await link.ask(Command(code=code, opaque=1, language="PYTHON"))


async def _certificate(address: Address, timeout_s: float) -> bytes | None:
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(
                address.host, address.port, ssl=unverified_tls(), server_hostname=address.host
            )
    except (OSError, ValueError):  # includes TimeoutError and SSLError
        return None
    session: ssl.SSLObject = writer.get_extra_info("ssl_object")
    certificate = session.getpeercert(binary_form=True)
    writer.transport.abort()
    return certificate


def _expiry_ms(certificate: bytes) -> int | None:
    from cryptography.x509 import load_der_x509_certificate

    try:
        return int(load_der_x509_certificate(certificate).not_valid_after_utc.timestamp() * 1000)
    except ValueError:
        return None


def _boot_ms(body: bytes | None) -> int | None:
    try:
        table = msgspec.json.decode(body or b"{}", type=_RuntimeInfo).table
        return int(table.get("bootTimestamp") or "")
    except (msgspec.DecodeError, ValueError):
        return None


def _is_local(address: Address) -> bool:
    return address.host.startswith("127.") or address.host in {"localhost", "::1"}
