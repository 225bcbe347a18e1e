"""`haul cp FOLDER http://host/account/container/path?SAS`: no key needed, none shown."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import trees
from command import Haul
from endpoints import KEY, Container
from sentences import Sentence


def test_cp_with_a_sas_url_both_ways(container: Container, tree: Path, tmp_path: Path) -> None:
    sas = container.endpoint.sas()
    haul = Haul(tmp_path, secrets=[KEY, sas, sas.split("sig=")[1]])
    up = haul("cp", tree, container.url("path", sas), "--json")
    assert container.name in up.text
    haul("cp", container.url("path/", sas), "back")
    trees.assert_same(trees.contents(tmp_path / "back"), trees.contents(tree))


def test_ls_with_a_sas_that_may_only_list(container: Container, tmp_path: Path) -> None:
    container.client.upload_blob("a#b", b"hello")
    sas = container.endpoint.sas("l")
    haul = Haul(tmp_path, secrets=[sas.split("sig=")[1]])
    assert "a#b" in haul("ls", container.url("", sas)).text
    haul("cp", container.url("a%23b", sas), "back", code=3)


def test_a_presigned_url_of_s3_is_recognised(haul: Haul, sentence: Sentence) -> None:
    signature = "X-Amz-Signature=0123456789abcdef0123456789abcdef"
    haul.secrets.append(signature)
    for query in (f"X-Amz-Algorithm=AWS4-HMAC-SHA256&{signature}", "AWSAccessKeyId=x&Signature=y&Expires=1"):
        url = f"https://bucket.s3.amazonaws.com/tas.nc?{query}"
        for line in (["cp", url, "back"], ["cp", "-", url], ["ls", url], ["stat", url]):
            said = haul(*line, code=2)
            sentence(said.stderr)
            assert said.hints


def test_cp_with_an_expired_sas_says_so(container: Container, tree: Path, tmp_path: Path) -> None:
    sas = container.endpoint.sas(lasts=timedelta(minutes=-5))
    haul = Haul(tmp_path, secrets=[sas.split("sig=")[1]])
    said = haul("cp", tree / "plain.txt", container.url("plain.txt", sas), "--quiet", code=3)
    (line,) = said.error_lines
    assert "expire" in line.lower()
    assert "hint:" in line
