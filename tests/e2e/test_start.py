"""From the command line to listening, and everything that can be wrong on the way."""

import os
import socket
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.support.process import Process, serving, start
from tests.support.remoting import Client, get_kv, put_kv, register, route
from tests.support.remoting_frames import Request


def failure(process: Process) -> str:
    """The one line that a process which could not start leaves behind."""
    try:
        assert process.wait() in {1, 2}
    finally:
        process.kill()
    assert "Traceback" not in process.log
    assert "listening" not in process.out
    return process.log


def test_says_that_it_listens_in_its_own_and_in_javas_words(tmp_path: Path) -> None:
    with serving(tmp_path) as ns:
        assert ns.port != 0
        assert f"listening on 127.0.0.1:{ns.port} (nameserver)\n" in ns.out
        java = f"The Name Server boot success. serializeType=JSON, address 127.0.0.1:{ns.port}\n"
        assert java in ns.out
        with Client(ns.address) as client:
            assert client.ask(register()).code == 0
            assert client.ask(route("TopicTest")).code == 0
        assert ns.stop() == 0


def test_an_idle_server_is_small(tmp_path: Path) -> None:
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
        said = failure(start(tmp_path, listen=f"127.0.0.1:{port}"))
    assert f"cannot listen on 127.0.0.1:{port}: the port is in use by process {os.getpid()} (" in said
    assert "--listen" in said


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    assert "not one of this machine" in failure(start(tmp_path, listen="192.0.2.1:0"))


def test_a_host_that_does_not_exist(tmp_path: Path) -> None:
    assert "nowhere.invalid is not an address" in failure(start(tmp_path, listen="nowhere.invalid:0"))


def test_a_home_in_use_names_the_process(tmp_path: Path) -> None:
    with serving(tmp_path) as ns:
        said = failure(start(tmp_path))
        assert f"is in use by process {ns.pid}" in said
        assert ns.exit_code is None


def test_a_corrupt_kv_file_is_named_and_left_alone(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        for number in range(2):
            assert client.ask(put_kv(f"key-{number}", "value")).code == 0
    kv_file = tmp_path / "kvConfig.json"
    broken = kv_file.read_bytes()[:-9]
    kv_file.write_bytes(broken)
    said = failure(start(tmp_path))
    assert str(kv_file) in said
    assert "kvConfig.json.bak" in said
    assert kv_file.read_bytes() == broken

    (tmp_path / "kvConfig.json.bak").replace(kv_file)
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(get_kv("key-0")).ext == {"value": "value"}


def test_a_certificate_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    _, key = Authority().issue("localhost", cert=tmp_path / "unused.pem", key=tmp_path / "key.pem")
    settings = {
        "routebook.tls.testMode": False,
        "routebook.tls.keyPath": key,
        "routebook.tls.certPath": tmp_path / "missing.pem",
    }
    said = failure(start(tmp_path / "home", settings=settings))
    assert f"{tmp_path}/missing.pem (routebook.tls.certPath) cannot be read: No such file or directory" in said


def test_settings_changed_over_the_wire_are_there_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(Request(code=318, body=b"orderMessageEnable=true\n")).code == 0
    assert "orderMessageEnable=true" in (tmp_path / "namesrv.properties").read_text()
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert b"orderMessageEnable=true\n" in client.ask(Request(code=319)).body


def test_a_change_that_cannot_be_saved_is_said(tmp_path: Path) -> None:
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
