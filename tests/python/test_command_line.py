"""python -m tokamak is the command line."""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from tokamak import _tokamak

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
PROGRAM = "fusion doubled(x: f32[4]) -> y {\n  y = add(x, x)\n}\n"


def ran(*arguments, script=None, **options):
    command = ["-m", "tokamak"] if script is None else ["-c", script]
    return subprocess.run([sys.executable, *command, *map(str, arguments)], capture_output=True, text=True, timeout=100,
                          check=False, **options)


def test_a_program_runs_and_is_checked():
    done = ran("run", EXAMPLES / "suite" / "softmax_fwd.fusion", "--check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "check T1: ok" in done.stdout


def test_the_version_is_that_of_the_command_line():
    done = ran("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tokamak 0.")


@pytest.mark.parametrize("text, code, words", [("fusion f(x: f32[4]) -> y {\n  y = frobnicate(x)\n}\n", 3, ":2:7"),
                                               (None, 4, "absent.fusion")])
def test_a_bad_file_has_its_message_and_exit_code(tmp_path, text, code, words):
    file = tmp_path / "absent.fusion"
    if text is not None:
        file.write_text(text)
    done = ran("run", file)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


def test_a_wrong_option_has_the_exit_code_of_usage():
    assert ran("run", "--frobnicate").returncode == 2
    assert ran().returncode == 2


def test_a_name_that_is_no_text_reaches_the_file_system(tmp_path):
    file = os.fsencode(tmp_path) + b"/\xff.fusion"
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "tokamak", "run", file], capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


def test_what_python_printed_before_comes_before():
    script = "from tokamak.__main__ import main; print('before'); code = main(); print('after', code)"
    assert ran("--version", script=script).stdout.splitlines()[::2] == ["before", "after 0"]


def test_threads_of_python_run_meanwhile(tmp_path):
    pipe = tmp_path / "pipe.fusion"
    os.mkfifo(pipe)
    script = ("import pathlib, sys, threading; from tokamak.__main__ import main; "
              f"threading.Thread(target=lambda: pathlib.Path(sys.argv[2]).write_text({PROGRAM!r})).start(); "
              "sys.exit(main())")
    done = ran("draw", pipe, "--svg", "fusion=-", script=script)
    assert (done.returncode, done.stderr) == (0, "")


def heeding_ctrl_c():
    """What runs in the background of a shell inherits that it does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_it(tmp_path):
    pipe = tmp_path / "pipe.fusion"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-m", "tokamak", "run", pipe], stderr=subprocess.PIPE,
                          preexec_fn=heeding_ctrl_c) as process:
        with open(pipe, "w", encoding="utf-8"):  # which waits until the command opens it
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(timeout=100) == -signal.SIGINT
            finally:
                process.kill()
        assert b"Traceback" not in process.stderr.read()


def test_words_are_texts():
    with pytest.raises(TypeError, match="words are of type str; this one is a int"):
        _tokamak.main([3])
    with pytest.raises(ValueError):
        _tokamak.main(["a\0b"])
