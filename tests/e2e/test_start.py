"""Start-up of the server process: what it prints, and the errors that stop it."""

import os
import socket
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.support.process import Process, serving, start
from tests.support.remoting import Client, get_kv, put_kv, register, route
from tests.support.remoting_frames import Request


def failure(process: Process) -> str:
    """The log of a process that failed to start."""
    try:
        assert process.wait() in {1, 2}
    finally:
        process.kill()
    assert "Traceback" not in process.log
    assert "listening" not in process.out
    return process.log


def test_the_start_lines_of_routebook_and_java_are_printed(tmp_path: Path) -> None:
    with serving(tmp_path) as ns:
        assert ns.port != 0
        assert f"listening on 127.0.0.1:{ns.port} (nameserver)\n" in ns.out
        java = f"The Name Server boot success. serializeType=JSON, address 127.0.0.1:{ns.port}\n"
        assert java in ns.out
        with Client(ns.address) as client:
            assert client.ask(register()).code == 0
            assert client.ask(route("TopicTest")).code == 0
        assert ns.stop() == 0


def test_an_idle_server_needs_less_than_60_mib(tmp_path: Path) -> None:
    with serving(tmp_path) as ns:
        assert ns.resident_bytes() < 60 * 1024 * 1024


def test_ipv6(tmp_path: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback address")
    with serving(tmp_path, listen="[::1]:0") as ns:
        assert ns.host == "[::1]"
        with socket.create_connection(("::1", ns.port)) as connection:
            connection.sendall(route("nowhere").encode())
            assert b'"code":17' in connection.recv(4096)


def test_a_port_in_use_names_the_process(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        log = failure(start(tmp_path, listen=f"127.0.0.1:{port}"))
    assert f"cannot listen on 127.0.0.1:{port}: the port is in use by process {os.getpid()} (" in log
    assert "--listen" in log


def test_an_address_of_another_machine_is_rejected(tmp_path: Path) -> None:
    assert "this machine does not have the address" in failure(start(tmp_path, listen="192.0.2.1:0"))


def test_an_unknown_host_is_rejected(tmp_path: Path) -> None:
    assert "nowhere.invalid:0: the host name is unknown" in failure(start(tmp_path, listen="nowhere.invalid:0"))


def test_a_home_in_use_names_the_process(tmp_path: Path) -> None:
    with serving(tmp_path) as ns:
        log = failure(start(tmp_path))
        assert f"is in use by process {ns.pid}" in log
        assert ns.exit_code is None


def test_a_corrupt_kv_file_stops_the_start_and_stays_unchanged(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        for number in range(2):
            assert client.ask(put_kv(f"key-{number}", "value")).code == 0
    kv_file = tmp_path / "kvConfig.json"
    broken = kv_file.read_bytes()[:-9]
    kv_file.write_bytes(broken)
    log = failure(start(tmp_path))
    assert str(kv_file) in log
    assert "kvConfig.json.bak" in log
    assert kv_file.read_bytes() == broken

    (tmp_path / "kvConfig.json.bak").replace(kv_file)
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(get_kv("key-0")).ext == {"value": "value"}


def test_an_unreadable_certificate_stops_the_start(tmp_path: Path) -> None:
    _, key = Authority().issue("localhost", cert=tmp_path / "unused.pem", key=tmp_path / "key.pem")
    settings = {
        "routebook.tls.testMode": False,
        "routebook.tls.keyPath": key,
        "routebook.tls.certPath": tmp_path / "missing.pem",
    }
    log = failure(start(tmp_path / "home", settings=settings))
    assert f"cannot read {tmp_path}/missing.pem (routebook.tls.certPath): No such file or directory" in log


def test_changed_settings_survive_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(Request(code=318, body=b"orderMessageEnable=true\n")).code == 0
    assert "orderMessageEnable=true" in (tmp_path / "namesrv.properties").read_text()
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert b"orderMessageEnable=true\n" in client.ask(Request(code=319)).body


def test_a_change_that_cannot_be_saved_is_reported(tmp_path: Path) -> None:
    blocked = tmp_path / "file" / "kvConfig.json"
    with serving(tmp_path / "home", settings={"kvConfigPath": str(blocked)}) as ns, Client(ns.address) as client:
        (tmp_path / "file").write_text("a file where a folder should be")
        reply = client.ask(put_kv("key", "value"))
        assert reply.code == 1
        assert reply.remark is not None
        assert str(blocked) in reply.remark
        assert "lost at the next restart" in reply.remark
        assert client.ask(get_kv("key")).ext == {"value": "value"}
        ns.wait_for_log("not saved")
