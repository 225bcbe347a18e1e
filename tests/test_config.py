"""Remotes, defaults and allowed endpoints: against real services, by the command and from Python."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

import haulage
import trees
from command import Haul
from endpoints import ACCOUNT, KEY, Endpoint, S3Endpoint
from haulage.errors import CredentialError, UsageError
from sentences import Sentence


@pytest.fixture
def config(haul: Haul) -> Path:
    """The user's file, not written yet."""
    path = haul.folder / "config.toml"
    haul.env["HAULAGE_CONFIG"] = str(path)
    return path


def write(path: Path, text: str, mode: int = 0o600) -> None:
    path.write_text(text)
    path.chmod(mode)


def shown(haul: Haul) -> Any:
    return json.loads(haul("config", "show", "--json").stdout)


def test_one_command_copies_between_remotes_with_credentials_of_their_own(
    haul: Haul, config: Path, azurite: Endpoint, versitygw: S3Endpoint, sentence: Sentence
) -> None:
    container, bucket = azurite.container(), versitygw.new_name()
    haul("mb", f"s3://{bucket}", env={**versitygw.env, "HAULAGE_CONFIG": ""})
    access_key, secret_key = versitygw.keys
    haul.secrets.append(secret_key)
    for name in list(haul.env):
        if name.startswith(("AZURE_", "AWS_")):
            del haul.env[name]
    write(
        config,
        f"""
        [remotes.here]
        url = "{azurite.url}/{container.name}/in here"
        account_key = {{ env = "HERE_KEY" }}
        [remotes.short]
        url = "az://{container.name}"
        endpoint = "{azurite.url}"
        account = "{ACCOUNT}"
        account_key = "{KEY}"
        [remotes.there]
        url = "s3://{bucket}/p/"
        endpoint = "{versitygw.url}"
        access_key_id = "{access_key}"
        secret_access_key = {{ file = "{haul.folder}/secret" }}
        [remotes.broken]
        url = "s3://{bucket}"
        access_key_id = "x"
        secret_access_key = {{ env = "NO_SUCH_VARIABLE" }}
        """,
    )
    (haul.folder / "secret").write_text(secret_key + "\n")
    (haul.folder / "tree").mkdir()
    (haul.folder / "tree/a b%20.nc").write_bytes(b"1")
    haul.env["HERE_KEY"] = KEY
    haul("cp", "tree", "here:x/")
    haul("cp", "here:x/", "there:y/")
    haul("verify", "tree", "there:y")
    haul("cp", "there:", "short:back/")
    assert haul("cat", "short:back/y/a b%20.nc").stdout == b"1"
    assert sorted(container.contents()) == ["back/y/a b%20.nc", "in here/x/a b%20.nc"]
    # One whose secret is missing stops nobody who does without it.
    said = haul("ls", "broken:", code=2).stderr
    sentence(said)
    assert "NO_SUCH_VARIABLE is not set" in said
    remotes = {remote["remote"]: remote for remote in shown(haul)["remotes"]}
    assert remotes["there"]["credential"] == "access key"
    assert remotes["here"]["url"] == f"{azurite.url}/{container.name}/in here"
    assert "account key" in haul("config", "show").stdout.decode()
    unknown = f"define [remotes.nowhere] in {config}"
    assert unknown in haul("ls", "nowhere:x", code=2).stderr


def test_python_knows_the_remotes(
    haul: Haul, config: Path, azurite: Endpoint, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    container = azurite.container()
    text = f'[remotes.lake]\nurl = "{azurite.url}/{container.name}"\naccount_key = "{KEY}"\n'
    write(config, text)
    monkeypatch.setenv("HAULAGE_CONFIG", str(config))
    (haul.folder / "a").write_bytes(b"a")
    assert haulage.copy(haul.folder / "a", "lake:one/a").objects_done == 1
    assert [item.key for item in haulage.list("lake:one/")] == ["one/a"]
    with haulage.open("lake:one/a") as file:
        assert file.read() == b"a"
    # What is written down later holds from then on.
    write(config, 'allowed_endpoints = ["*.institute.example"]\n' + text)
    with pytest.raises(CredentialError) as error:
        list(haulage.list("lake:one/"))
    sentence(error.value)


def test_a_flag_goes_before_a_variable_and_that_before_the_file(haul: Haul, config: Path) -> None:
    (haul.folder / "tree").mkdir()
    for name in ("a.nc", "b.tmp", "c.bak"):
        (haul.folder / "tree" / name).write_bytes(b"x")
    write(config, '[defaults]\nexclude = ["*.tmp", "*.bak"]\nchecksum = "md5"\npolite = true\n')
    haul("cp", "tree", "by-file")
    haul("cp", "tree", "by-variable", env={"HAULAGE_EXCLUDE": "*.tmp"})
    haul("cp", "--exclude", "*.nc", "tree", "by-flag", env={"HAULAGE_EXCLUDE": "*.tmp"})
    names = {
        where: sorted(p.name for p in (haul.folder / where).iterdir())
        for where in ("by-file", "by-variable", "by-flag")
    }
    assert names == {"by-file": ["a.nc"], "by-variable": ["a.nc", "c.bak"], "by-flag": ["b.tmp", "c.bak"]}
    haul.env["HAULAGE_PROXY"] = "http://me:hushhushhush@proxy.example:3128"
    haul.secrets.append("hushhushhush")
    sources = {one["option"]: (one["values"], one["source"]) for one in shown(haul)["defaults"]}
    assert sources["exclude"] == (["*.tmp", "*.bak"], str(config))
    assert sources["proxy"] == (["http://(not shown)@proxy.example:3128"], "HAULAGE_PROXY")
    text = haul("config", "show").text
    assert "HAULAGE_PROXY" in text
    # Headings have an empty line above them.
    assert re.search(r"\n\n\w[^\n]*\n  ", text)
    assert "\\n" not in text


def test_endpoints_are_shown_without_what_lets_anybody_in(haul: Haul, config: Path) -> None:
    secret = "hushhushhush"
    haul.secrets.append(secret)
    write(
        config,
        f'[defaults]\nendpoint = "https://u:{secret}@h/acc"\n'
        f'[remotes.w1]\nurl = "az://c"\nendpoint = "http://u:{secret}@h:1/acc"\n',
    )
    haul.env["AWS_ENDPOINT_URL"] = f"http://user:{secret}@127.0.0.1:21000"
    haul.env["AZURE_STORAGE_ENDPOINT"] = f"https://x.example/acc?sv=1&sig={secret}"
    told = shown(haul)
    assert told["remotes"][0]["endpoint"] == "http://(not shown)@h:1/acc"
    assert {one["variable"]: one["value"] for one in told["credentials"]} == {
        "AWS_ENDPOINT_URL": "http://(not shown)@127.0.0.1:21000",
        "AZURE_STORAGE_ENDPOINT": "https://x.example/acc",
    }
    assert "(not shown)@h/acc" in haul("config", "show").text


def test_an_object_that_a_default_leaves_out_is_not_silently_kept(
    haul: Haul, config: Path, sentence: Sentence
) -> None:
    with haulage.Emulator() as emulator:
        haul.env["AZURE_STORAGE_CONNECTION_STRING"] = emulator.connection_string
        write(config, '[defaults]\nexclude = ["*.tmp"]\n')
        haul("mb", "az://box")
        (haul.folder / "x.tmp").write_bytes(b"x")
        haul("cp", "x.tmp", "az://box/d/x.tmp")
        for words in ([], ["-r"]):
            said = haul("rm", *words, "az://box/d/x.tmp").stderr
            assert "removed 0 objects" in said
            assert "--include" in said
            sentence(said)
        assert haul("ls", "-r", "az://box").text.endswith("d/x.tmp\n")
        haul("rm", "az://box/d/x.tmp", "--exclude", "none")
        haul("ls", "-r", "az://box/d/", code=4)


def test_a_script_may_do_without_all_of_them(haul: Haul, config: Path, sentence: Sentence) -> None:
    (haul.folder / "tree").mkdir()
    (haul.folder / "tree" / "b.tmp").write_bytes(b"x")
    write(config, '[defaults]\nexclude = ["*.tmp"]\n')
    haul.env["HAULAGE_CONCURRENCY"] = "no number"
    haul("cp", "tree", "refused", code=2)
    haul("cp", "tree", "whole", env={"HAULAGE_DEFAULTS": "none"})
    assert (haul.folder / "whole" / "b.tmp").exists()
    said = haul("cp", "tree", "refused", env={"HAULAGE_DEFAULTS": "all"}, code=2)
    sentence(said.hints)


def test_a_profile_of_the_configuration_is_where_a_job_begins(haul: Haul, config: Path) -> None:
    write(config, "[profiles.office]\nconcurrency = 0\n")
    (haul.folder / "a").write_bytes(b"a")
    assert "zero is too few" in haul("cp", "a", "b", "--profile", "office", code=2).stderr
    write(config, "[profiles.office]\nconcurrency = 3\n")
    haul("cp", "a", "b", "--profile", "office")


def test_nothing_goes_to_hosts_that_are_not_allowed(
    haul: Haul, config: Path, azurite: Endpoint, sentence: Sentence
) -> None:
    (haul.folder / "a").write_bytes(b"a")
    sas = azurite.sas()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        write(config, 'allowed_endpoints = ["127.0.0.1:1", "*.institute.example"]\n')
        for line in (
            ["cp", "a", f"http://127.0.0.1:{port}/acc/c/a?{sas}"],
            ["ls", f"http://127.0.0.1:{port}/acc/c?{sas}"],
            ["cp", f"http://127.0.0.1:{port}/acc/c/a?{sas}", "b"],
            ["ls", "s3://bucket", "--no-sign-request", "--endpoint", f"http://127.0.0.1:{port}"],
        ):
            said = haul(*line, code=3).stderr
            sentence(said)
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()
    write(config, f'allowed_endpoints = ["127.0.0.1:{port}"]\n')
    lists = shown(haul)["allowed_endpoints"]
    assert lists == [{"hosts": [f"127.0.0.1:{port}"], "source": str(config)}]
    host = azurite.url.split("/")[2]
    write(config, f'allowed_endpoints = ["{host}"]\n')
    haul("ls", f"{azurite.url}/{azurite.container().name}")


def test_a_refusal_of_a_host_comes_first_is_said_once_and_names_it(
    haul: Haul, config: Path, tmp_path: Path, sentence: Sentence
) -> None:
    """Without credentials too; and with a connection string, whose host was shown as REDACTED."""
    for name in list(haul.env):
        if name.startswith(("AZURE_", "AWS_")):
            del haul.env[name]
    trees.make(tmp_path / "tree", files=30, awkward=False)
    host = "https://storage.remote.example:8443"
    haul.env["LAKE"] = (
        f"DefaultEndpointsProtocol=https;AccountName=acc;AccountKey={KEY};BlobEndpoint={host}/acc;"
    )
    lake = '[remotes.lake]\nurl = "az://c"\nconnection_string = { env = "LAKE" }\n'
    write(config, 'allowed_endpoints = ["*.institute.example"]\n' + lake)
    for there, refused in (
        ("lake:tree/", host),
        (f"{host}/acc/c/tree/", host),
        ("s3://bucket/tree/", "https://bucket.s3.us-east-1.amazonaws.com"),
    ):
        said = haul("cp", "tree", there, code=3)
        assert refused in said.stderr
        sentence(said.stderr)
        assert len(said.error_lines) == 1


def test_a_host_that_does_not_answer_is_named_once(haul: Haul, config: Path, tmp_path: Path) -> None:
    trees.make(tmp_path / "tree", files=30, awkward=False)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        host = f"127.0.0.1:{closed.getsockname()[1]}"
    haul.env["LAKE"] = f"AccountName=acc;AccountKey={KEY};BlobEndpoint=http://{host}/acc;"
    write(config, '[remotes.lake]\nurl = "az://c"\nconnection_string = { env = "LAKE" }\n')
    for line in (["cp", "tree", "lake:tree/", "--overwrite", "always"], ["cp", "tree", "lake:tree/"]):
        said = haul(*line, code=1).stderr
        assert host in said
        assert "REDACTED" not in said
        assert said.count("connection refused") == 1, said


def test_a_remote_that_names_no_place_is_refused(haul: Haul, config: Path) -> None:
    for url, cause, hint in (
        (
            "az://",
            "its url names no container",
            'write url = "az://container", or "https://ACCOUNT.blob.core.windows.net" for a whole account',
        ),
        ("s3://", "its url names no bucket", 'write url = "s3://bucket" or "s3://bucket/path"'),
        (
            "https:///c",
            "its url names no host",
            'write url = "https://ACCOUNT.blob.core.windows.net/container/path"',
        ),
    ):
        write(
            config,
            f'[remotes.lake]\nurl = "{url}"\naccount = "acc"\n'
            if url == "az://"
            else f'[remotes.lake]\nurl = "{url}"\n',
        )
        said = haul("ls", "lake:", code=2)
        assert cause in said.stderr
        assert said.hints == {hint}


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "[defaults]\ncap = 1.5",
        "[defaults]\ncap = 5",
        "[defaults]\npolite = 7",
        '[defaults]\ncap = ["1mbit", "2mbit"]',
        "[defaults]\ndelete = true",
        '[remotes.az]\nurl = "az://c"',
        '[remotes.xx]\nurl = "ftp://c"',
        '[remotes.xx]\nurl = "s3://b"\naddressing = "x"',
        '[remotes.xx]\nurl = "s3://b"\naccess_key_id = "x"',
        '[remotes.xx]\nurl = "az://c"\nprofile = "x"',
        '[remotes.xx]\nurl = "az://c"\nsas_token = "sig=x"',
        '[remotes.xx]\nurl = "https://a.example/b/c"\nsas_token = "x"\naccount_key = "x"',
        'allowed_endpoints = ["https://a"]',
    ],
)
def test_a_mistake_in_the_file_is_told_with_what_to_write(
    haul: Haul, config: Path, text: str, sentence: Sentence
) -> None:
    write(config, text)
    (haul.folder / "a").write_bytes(b"a")
    result = haul("cp", "a", "b", code=2)
    sentence(result.stderr)
    assert str(config) in result.stderr


def test_the_file_itself_is_looked_at(
    haul: Haul, config: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    sentence(haul("config", "show", code=4).stderr)
    haul("config", "show", env={"HAULAGE_CONFIG": "/dev/null"})
    write(config, '[remotes.xx]\nurl = "az://c"\naccount = "a"\naccount_key = "aHVzaA=="\n', 0o644)
    said = haul("ls", "xx:", code=3).stderr
    assert "account_key" in said
    sentence(said)
    write(config, "[defaults]\nconcurrency = 0\n")
    # A program does the same on every machine: defaults are for the command.
    monkeypatch.setenv("HAULAGE_CONFIG", str(config))
    (haul.folder / "a").write_bytes(b"a")
    assert haulage.copy(haul.folder / "a", haul.folder / "b").objects_done == 1
    write(config, "nonsense")
    with pytest.raises(UsageError, match=r"config\.toml:1"):
        haulage.copy(haul.folder / "a", haul.folder / "b")


def test_a_folder_in_place_of_the_file_is_told(haul: Haul, sentence: Sentence) -> None:
    place = haul.folder / "xdg/haulage/config.toml"
    place.mkdir(parents=True)
    said = haul("ls", "az://c", code=1, env={"XDG_CONFIG_HOME": str(haul.folder / "xdg")}).stderr
    assert "HAULAGE_CONFIG" in said
    sentence(said)


def test_connections_are_made_from_the_address_that_was_named(
    haul: Haul, emulator: Endpoint, sentence: Sentence
) -> None:
    container = emulator.container()
    (haul.folder / "a").write_bytes(b"a")
    haul("cp", "a", container.az("a"), "--bind", "127.0.0.9")
    for address, cause in (("192.0.2.1", "does not have the address"), ("::1", "has no IPv6 address")):
        said = haul("ls", container.az(), "--bind", address, code=2).stderr
        assert cause in said
        sentence(said)
    said = haul("ls", container.az(), "--bind", "here", code=2).stderr
    assert "10.1.0.7" in said
    sentence(said)
    with pytest.raises(UsageError) as error:
        haulage.copy(
            haul.folder / "a", f"{emulator.url}/{container.name}/b?{emulator.sas()}", bind="192.0.2.1"
        )
    sentence(error.value)
