"""What workers log holds no secret, and stays readable."""

from __future__ import annotations

import time

import pytest

from haulage.watch.workers import _text


@pytest.mark.parametrize(
    "text",
    [
        "AWS_SECRET_ACCESS_KEY=hidden0123456789",
        "client_secret: hidden0123456789",
        "'AccountKey': 'hidden0123456789'",
        "Authorization: Basic hidden0123456789",
        "SharedKey hidden0123456789",
        "password=hidden0123456789",
        "https://a.example/c?sv=1&sig=hidden0123456789",
        "account_key='hidden0123456789'",
        "AZURE_STORAGE_KEY=hidden0123456789",
        "AZURE_CLIENT_SECRET=hidden0123456789",
        "aws_session_token=hidden0123456789",
        "?token=hidden0123456789",
        "%26token%3Dhidden0123456789%26next%3D2",
        "refresh_token => hidden0123456789",
        "sas_token = hidden0123456789",
        '{"api_key": "hidden0123456789"}',
        "x-api-key: hidden0123456789",
        "{b'x-api-key': b'hidden0123456789'}",
        "secret=hidden0123456789",
        "pwd=hidden0123456789",
        "passphrase=hidden0123456789",
        "PGPASSWORD=hidden0123456789",
        "DB_PASSWORD: hidden0123456789",
        "mypassword=hidden0123456789",
        "accountKey=hidden0123456789",
        "STORAGEKEY=hidden0123456789",
        "key=Hidden0123456789hidden",
        "token: Bearer hidden0123456789",
        "password='with spaces 0123456789' next",
        '"{\\"password\\": \\"with spaces 0123456789\\"}"',
        '{"password": "a quote \\" in it 0123456789"}',
        "password='not closed 0123456789",
        "https://user:an@0123456789@host/a",
        "https://:0123456789@host/a",
        "az login --account-key hidden0123456789 --verbose",
        "--account_key hidden0123456789",
        "--accountKey hidden0123456789",
        "New-AzContext -AccountKey hidden0123456789",
        "--password hidden0123456789",
        "--password 'two words 0123456789' next",
        "--pass hidden0123456789",
        "--sas 0123456789",
        "--token \\\n    hidden0123456789",
        "--sas-token sv=1&x=hidden0123456789",
        "Command '['false', '--password', 'hidden0123456789', '--sas-token', '0123456789']' failed",
        '["--client-secret","hidden0123456789"]',
        '\\"--password\\", \\"hidden0123456789\\"',
        "['--password',\n 'hidden0123456789']",
        "('password', 'hidden0123456789')",
        "[(b'x-api-key', b'hidden0123456789'), (b'a', b'b')]",
        "('a', ('password', 'hidden0123456789",
        "Authorization: token ghp_hidden0123456789",
        "{'Authorization': 'token ghp_hidden0123456789'}",
        "('Authorization', 'Bearer hidden0123456789')",
        'Authorization: Token token="hidden0123456789"',
        "Proxy-Authorization: hidden0123456789hidden",
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIA0123456789/2025/s3/aws4_request, SignedHeaders=host, "
        "Signature=hidden0123456789",
        "Credential=AKIA0123456789/2025/s3/aws4_request, Signature=hidden0123456789",
        "X-Amz-Credential=AKIA0123456789%2F2025",
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str) -> None:
    found = _text(f"before {text}\nafter")
    assert "0123456789" not in found
    assert found.startswith("before ")
    assert found.endswith("\nafter")


@pytest.mark.parametrize(
    "text",
    [
        "the password is asked for, a basic rule of SharedKey",
        "the key: value",
        "KeyError: 'grid'",
        "keys=3, tokens: 5",
        "monkey: 1, MONKEY=2",
        "rows.sort(key=lambda row: row.key)",
        "PartitionKey='north', row_key: 7",
        "key=data/2024/run.nc",
        "cannot find token::Name",
        "http://host:8080/path/a@b",
        "password='', and nothing else",
        "--token-file run/token --password-stdin --no-password db",
        "use --password to set it, or --token, --key",
        "--password --verbose, --password -v",
        "--sort-key name --partition-key north --key path/to --low-pass 5",
        "password: required",
        "the field 'password': 'required'",
        "password=None, token=null, secret: missing.",
        '{"password":null,"user":"a"}',
        "Authorization: permission denied",
        "authorization, please",
        "the token is expired, password 'x'",
        "['user', 'password', 'email']",
        "('key', 'value')",
        "f('token', 3)",
        "signature=(a, b), credential=DefaultAzureCredential()",
        "no -----BEGIN PRIVATE KEY----- in file x",
        "-----BEGIN CERTIFICATE-----\nMIIC0123456789abcdef\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIC0123456789abcdef",
    ],
)
def test_what_is_no_secret_stays_readable(text: str) -> None:
    assert _text(text) == text


KEY = """-----BEGIN PRIVATE KEY-----
MIIEhiddenhidden0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL
MIIEhidden0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL012345
MIIEhidden==
-----END PRIVATE KEY-----"""
HEADERS = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00AA\n\nMIIE"


@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("before", ["", "key:\n", "private_key=", 'private_key="', "('key', '"])
def test_a_private_key_is_taken_out_to_its_end(before: str, kind: str) -> None:
    key = KEY.replace("PRIVATE", f"{kind}PRIVATE")
    for text in (key, key.replace("\n", "\\n"), key.replace("\n", "\\\\n"), key.replace("\n", "\r\n")):
        found = _text(f"before {before}{text}\nafter")
        assert "hidden" not in found
        assert found.startswith("before ")
        assert found.endswith("-----\nafter")
    with_headers = key.replace("MIIE", HEADERS, 1)
    assert "hidden" not in _text(with_headers[:-30])


def test_a_private_key_that_is_cut_off_is_taken_out() -> None:
    for text in (KEY, KEY.replace("\n", "\\n"), KEY.replace("MIIE", HEADERS, 1)):
        for length in range(28, len(text)):
            found = _text(text[:length])
            assert "MIIE" not in found, text[:length]
            assert "hidden" not in found, text[:length]
    other = "-----BEGIN CERTIFICATE-----\nMIIC0123456789abcdef\n-----END CERTIFICATE-----"
    assert _text(f"{KEY[:120]}\n{other}").endswith(other)
    assert _text(f"{KEY[:92]}\nERROR: it is cut off").endswith(": it is cut off")


#: What could be looked at again and again.
PIECES = [
    "key",
    "key=",
    "a-",
    "password='",
    "pwd=\\'",
    "pwd='\\'",
    "://a:",
    "a@",
    "bearer ",
    "pwd= \t",
    "--pwd ",
]
PIECES += ["--key 'a ", "('pwd', '", "('pwd', \\'", "('pwd','\\'", "'--token', \"", "authorization: ", "pwd "]
PIECES += [
    "pwd',\n",
    "credential=a",
    "signature=a",
    "pwd: yes!",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
]
PIECES += ["-----BEGIN PRIVATE KEY-----\n", "\n", "\\n", f"{'A' * 20}\n", "A: b\n"]


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_takes_no_longer_than_its_length(piece: str) -> None:
    times = []
    for pieces in (5_000, 40_000):
        text = f"{'' if '-----' in piece else '-----BEGIN PRIVATE KEY-----'}://x:{piece * pieces}"
        began = time.process_time()
        _text(text)
        times.append(time.process_time() - began)
    # Eight times as much; if each letter looked at all the others, 64 times.
    assert times[1] < 30 * times[0] + 0.1
