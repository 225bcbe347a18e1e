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
    ],
)
def test_what_is_no_secret_stays_readable(text: str) -> None:
    assert _text(text) == text


@pytest.mark.parametrize(
    "piece", ["key", "key=", "a-", "password='", "pwd=\\'", "pwd='\\'", "://a:", "a@", "bearer ", "pwd= \t"]
)
def test_a_long_text_takes_no_longer_than_its_length(piece: str) -> None:
    times = []
    for pieces in (5_000, 40_000):
        text = f"://x:{piece * pieces}"
        began = time.process_time()
        _text(text)
        times.append(time.process_time() - began)
    # Eight times as much; if each letter looked at all the others, 64 times.
    assert times[1] < 30 * times[0] + 0.1
