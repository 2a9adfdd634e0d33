"""`routebook serve` without serving: options, settings, errors, exit codes."""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from routebook import __version__
from routebook.cli import main
from routebook.server.state.home import Home


class CommandResult:
    """What a command did."""

    def __init__(self, code: int | str | None, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.lines = out.splitlines()


class Shell:
    """Runs `routebook …` in this process, with a home of its own and nothing of ours in the environment."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.home, self._patch, self._capture = home, patch, capture
        for name in [name for name in os.environ if name.startswith(("ROUTEBOOK_", "ROCKETMQ_"))]:
            patch.delenv(name)
        patch.setenv("ROUTEBOOK_HOME", str(home))

    def run(self, *args: str) -> CommandResult:
        self._patch.setattr(sys, "argv", ["routebook", *args])
        try:
            code: int | str | None = main()
        except SystemExit as left:
            code = left.code
        return CommandResult(code or 0, *self._capture.readouterr())


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    root, own = logging.getLogger(), logging.getLogger("routebook")
    handlers, level, own_level = root.handlers[:], root.level, own.level
    yield Shell(tmp_path / "home", monkeypatch, capsys)
    root.handlers[:] = handlers
    root.setLevel(level)
    own.setLevel(own_level)


def test_version(shell: Shell) -> None:
    ran = shell.run("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"routebook {__version__}\n", "")


def test_version_imports_no_server() -> None:
    program = (
        "import sys\nfrom routebook.cli import main\nsys.argv = ['routebook', '--version']\nmain()\n"
        "print(sorted({'rich', 'asyncio', 'logging', 'ssl'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("args", [["serve", "-h"], ["serve", "-p"]])
def test_help_and_settings_import_no_server(args: list[str]) -> None:
    """The server process keeps every imported module in memory."""
    never = {"rich", "pydantic", "asyncio", "ssl", "cryptography"}
    program = (
        f"import sys\nfrom routebook.cli import main\nsys.argv = {['routebook', *args]}\n"
        f"try: main()\nexcept SystemExit: pass\nprint(sorted({never} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(shell: Shell, option: str) -> None:
    ran = shell.run("serve", option)
    assert ran.code == 0
    for name in ("--listen", "--home", "-c", "-p", "-n", "-D", "--log-format", "--log-level"):
        assert name in ran.out


def test_the_commands_are_listed(shell: Shell) -> None:
    for args in (["-h"], ["--help"]):
        ran = shell.run(*args)
        assert ran.code == 0
        assert re.search(r"^  serve +Run a NameServer", ran.out, re.MULTILINE)


def test_as_a_module() -> None:
    ran = subprocess.run([sys.executable, "-m", "routebook", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"routebook {__version__}\n"


def test_print_lists_all_settings_and_writes_nothing(shell: Shell) -> None:
    ran = shell.run("serve", "-p")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines[0] == f"rocketmqHome={shell.home}"
    assert {"listenPort=9876", "bindAddress=127.0.0.1", "routebook.logFormat=text"} <= set(ran.lines)
    assert not shell.home.exists()


def test_a_closed_pipe_is_not_an_error(shell: Shell) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = [sys.executable, "-m", "routebook", "serve", "-p"]
        ran = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_every_option_reaches_its_setting(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "java.properties"
    file.write_bytes(b"orderMessageEnable=true\nfoo=bar\n")
    ran = shell.run(
        *("serve", "-p", "-c", str(file), "--home", str(tmp_path / "other"), "--listen", "[::1]:0", "-n", "a:1;b:2"),
        *("-Dtls.server.mode=enforcing", "-D", "waitSecondsForService=7", "--log-format", "json", "--log-level=debug"),
    )
    assert ran.code == 0
    assert {
        f"rocketmqHome={tmp_path}/other",
        f"kvConfigPath={tmp_path}/other/kvConfig.json",
        f"configStorePath={file}",
        "orderMessageEnable=true",
        f"# {file}:1",
        "bindAddress=::1",
        "listenPort=0",
        "# --listen",
        "waitSecondsForService=7",
        "routebook.productNamesrvAddr=a:1;b:2",
        "routebook.tls.mode=enforcing",
        "routebook.logFormat=json",
        "routebook.logLevel=debug",
        "foo=bar",
    } <= set(ran.lines)
    assert ran.err == f"routebook: {file}:2: foo is not a setting and has no effect\n"


def test_a_public_address_is_warned_about_with_a_remedy(shell: Shell) -> None:
    ran = shell.run("serve", "-p", "--listen", "0.0.0.0:0")
    assert ran.err.startswith("routebook: bindAddress=0.0.0.0: every machine")
    assert "or bindAddress=127.0.0.1 to accept local connections only" in ran.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--listen", "9876"], "routebook: --listen: 9876: not HOST:PORT with a port from 0 to 65535"),
        (["--listen", "::1:9876"], "routebook: --listen: ::1:9876: an IPv6 address needs brackets"),
        (["-D", "listenPort"], "routebook: -D listenPort: not KEY=VALUE"),
        (["-D", "=1"], "routebook: -D =1: not KEY=VALUE"),
        (["-D", "listenPrt=1"], "routebook: -D: listenPrt is not a setting; did you mean listenPort?"),
        (["-D", "listenPort=x\n\x1b[2J"], "routebook: -D: listenPort='x\\n\\x1b[2J' is not a whole number"),
        (
            ["--log-level", "loud"],
            "routebook: --log-level: routebook.logLevel=loud is not debug, info, warning or error",
        ),
        (["-n", "nowhere"], "routebook: -n: routebook.productNamesrvAddr=nowhere is not HOST:PORT"),
        (["-c", "/none/at/all"], "routebook: settings file /none/at/all does not exist"),
    ],
)
def test_an_invalid_setting_is_one_line_and_exit_code_2(shell: Shell, args: list[str], message: str) -> None:
    ran = shell.run("serve", *args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(message)
    assert ran.err.count("\n") == 1
    assert not shell.home.exists()


def test_a_controller_without_its_settings_is_one_line_and_exit_code_2(shell: Shell) -> None:
    ran = shell.run("serve", "-D", "enableControllerInNamesrv=true")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "routebook: Attribute value controllerDLegerGroup of ControllerConfig is null or empty\n"


@pytest.mark.parametrize("args", [["serve", "--lissten", "x"], ["serve", "extra"], ["sreve"]])
def test_a_usage_error_is_exit_code_2(shell: Shell, args: list[str]) -> None:
    ran = shell.run(*args)
    assert (ran.code, ran.out) == (2, "")
    assert "error: " in ran.err.lower()
    assert "Traceback" not in ran.err


def test_an_invalid_variable_stops_the_start(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTEBOOK_LOG_LEVL", "debug")
    ran = shell.run("serve", "-p")
    assert ran.code == 2
    assert ran.err == "routebook: environment: ROUTEBOOK_LOG_LEVL is not a setting; did you mean ROUTEBOOK_LOG_LEVEL?\n"


def test_a_home_in_use_is_one_line_and_exit_code_1(shell: Shell) -> None:
    with Home.open(shell.home):
        ran = shell.run("serve", "--listen", "127.0.0.1:0")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"routebook: home folder {shell.home} is in use by process {os.getpid()} since ")
    assert ran.err.count("\n") == 1
