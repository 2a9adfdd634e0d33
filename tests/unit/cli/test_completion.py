"""Shell completion: printed and installed for the current shell."""

from pathlib import Path

import pytest

from tests.support.command_line import routebook


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_show_prints_the_script_of_the_current_shell(shell: str) -> None:
    ran = routebook("--show-completion", environment={"SHELL": f"/usr/bin/{shell}"})
    assert ran.code == 0
    assert f"_ROUTEBOOK_COMPLETE={shell}_complete" in ran.out


@pytest.mark.parametrize(
    ("shell", "script", "start_file"),
    [
        ("bash", ".bash_completions/routebook.sh", ".bashrc"),
        ("zsh", ".zfunc/_routebook", ".zshrc"),
        ("fish", ".config/fish/completions/routebook.fish", None),
    ],
)
def test_install_writes_the_script_once(tmp_path: Path, shell: str, script: str, start_file: str | None) -> None:
    if start_file is not None:
        (tmp_path / start_file).write_text("alias l=ls")
    for _ in range(2):
        ran = routebook("--install-completion", environment={"SHELL": shell, "HOME": str(tmp_path)})
        assert ran.code == 0
    assert "_ROUTEBOOK_COMPLETE" in (tmp_path / script).read_text()
    if start_file is not None:
        assert (tmp_path / start_file).read_text() == f"alias l=ls\nsource '{tmp_path / script}'\n"


def test_an_unknown_shell_is_a_usage_error() -> None:
    ran = routebook("--show-completion", environment={"SHELL": "/bin/tcsh"})
    assert ran.code == 2
    assert ran.err == "routebook: no completion for the shell tcsh: use bash, zsh, fish\n"
