"""`haul doctor --serve`: the page to which a project's file is uploaded, as its users see it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from command import HAUL, clean_environment
from haulage.doctor import upload
from haulage.doctor.upload import UploadPage
from haulage.errors import LocalIOError
from sentences import Sentence


@pytest.fixture(scope="module")
def page() -> Iterator[UploadPage]:
    served = UploadPage()
    threading.Thread(target=served.run, daemon=True).start()
    yield served
    served.stop()


FORM = {"Content-Type": "multipart/form-data; boundary=XX"}


def form(name: str, content: bytes) -> bytes:
    head = f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + content + b"\r\n--XX--\r\n"


def post(page: UploadPage, name: str, content: bytes) -> tuple[int, str]:
    there = urlsplit(page.url)
    line = http.client.HTTPConnection(str(there.netloc), timeout=60)
    with closing(line):
        line.request("POST", there.path, form(name, content), FORM)
        answer = line.getresponse()
        return answer.status, answer.read().decode()


def get(page: UploadPage, path: str, host: str | None = None) -> tuple[int, str]:
    line = http.client.HTTPConnection(str(urlsplit(page.url).netloc), timeout=30)
    with closing(line):
        line.request("GET", path, headers={} if host is None else {"Host": host})
        answer = line.getresponse()
        return answer.status, answer.read().decode()


def test_a_person_uploads_a_file_and_saves_the_corrected_one(
    page: UploadPage, browser: Any, tmp_path: Path
) -> None:
    from browsing import Opened

    (tmp_path / "requirements.txt").write_text("numpy>=99\npytest\nnot-there-at-all\n")
    opened = Opened(browser, page.url, color_scheme="dark", viewport={"width": 360, "height": 900})
    opened.page.set_input_files("#file", str(tmp_path / "requirements.txt"))
    opened.page.click("button")
    opened.page.wait_for_selector("pre", timeout=60_000)
    shown = opened.page.inner_text("main")
    assert "numpy>=99 (requirements.txt:1)" in shown
    assert "not-there-at-all (requirements.txt:3) is not installed" in shown
    with opened.page.expect_download() as saved:
        opened.page.click("a")
    assert saved.value.suggested_filename == "corrected-requirements.txt"
    text = Path(saved.value.path()).read_text()
    assert re.fullmatch(r"numpy==\d\S+\npytest\nnot-there-at-all\n", text)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert opened.said == []
    opened.context.close()


def test_who_does_not_know_the_address_learns_nothing(page: UploadPage, sentence: Sentence) -> None:
    token = urlsplit(page.url).path
    status, text = get(page, "/")
    assert status == 403
    sentence(json.loads(text)["hint"])
    assert get(page, "/wrong/")[0] == 403
    assert get(page, token, host="evil.example")[0] == 421
    status, text = get(page, f"{token}corrected/nothing")
    assert (status, "upload it again" in text) == (404, True)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("setup.exe", b"x", "not a file of a project"),
        ("requirements.txt", b"\xff\xff", "it is not UTF-8 text"),
        ("requirements.txt", bytes(2 << 20), "it is larger than 1 MiB"),
        ("", b"", "no file was chosen"),
        ("pyproject.toml", b"a = " + b"[" * 9000, "nested too deeply"),
    ],
)
def test_what_is_no_projects_file(name: str, content: bytes, says: str, page: UploadPage) -> None:
    status, text = post(page, name, content)
    assert (status, says in text) == (400, True), text
    plain = text.replace("&#x27;", "'")
    hints = ("choose the project's requirements.txt, pyproject.toml or environment.yml", "name the project's")
    assert any(hint in plain for hint in hints)


def test_files_of_this_machine_are_not_read_for_an_upload(page: UploadPage, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("word-that-nobody-may-see\n")
    for name, text in (
        ("../../requirements.txt", f"-r {secret}\n-c {secret}\nnumpy\n"),
        ("environment.yml", f"dependencies:\n  - pip:\n    - -r {secret}\n"),
    ):
        status, shown = post(page, name, text.encode())
        assert (status, "word-that-nobody-may-see" in shown) == (200, False)
        assert "other files are not read from an upload" in shown


def test_no_more_are_compared_at_once_than_may_be(page: UploadPage) -> None:
    for _ in range(upload.AT_ONCE):
        page.turns.acquire()
    try:
        assert post(page, "requirements.txt", b"numpy\n")[0] == 503
    finally:
        for _ in range(upload.AT_ONCE):
            page.turns.release()


def test_one_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    served = UploadPage(timeout_s=0.01)
    monkeypatch.setattr("haulage.doctor.asking.START_S", 0.0)
    threading.Thread(target=served.run, daemon=True).start()
    try:
        status, text = post(served, "requirements.txt", b"numpy\n")
    finally:
        served.stop()
    assert (status, "allow more with --timeout 60s" in text) == (400, True), text


def test_a_text_that_cannot_be_judged_is_said(page: UploadPage) -> None:
    status, text = post(page, "requirements.txt", b"numpy<1; python_version > '" + b"3" * 5000 + b"'\n")
    assert status == 400
    assert "upload the project's requirements.txt, pyproject.toml or environment.yml" in text.replace(
        "&#x27;", "'"
    )


def test_a_port_that_is_taken(sentence: Sentence) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(LocalIOError) as caught:
        UploadPage(taken.getsockname()[1])
    sentence(caught.value)


def test_the_command_serves_until_it_is_interrupted_even_while_it_compares(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        scheduler = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen(
            [str(HAUL), "doctor", "--serve", "--json", "--scheduler", scheduler, "--timeout", "100s"],
            env=clean_environment(tmp_path),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        there = urlsplit(json.loads(process.stdout.readline())["url"])
        with closing(http.client.HTTPConnection(str(there.netloc), timeout=60)) as line:
            line.request("POST", there.path, form("requirements.txt", b"numpy\n"), FORM)
            with closing(silent.accept()[0]):
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=20)
    assert process.returncode == 0
