"""Services of S3 that answer as few do, and sizes at the bounds: whole jobs, behind a door to an emulator."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

import trees
from command import Haul, Result
from endpoints import S3Endpoint
from sentences import Sentence
from twists import XML, Answer, Asked, Door, Twist, door, first, refusal

MIB = 1 << 20
LARGE = 12 * MIB + 7
#: Success in the status and a failure in the document, as S3 may end an answer that it began too early.
LATE_ERROR = refusal(200, "InternalError")


def command(folder: Path, service: S3Endpoint) -> Haul:
    return Haul(folder, service.env, [service.keys[1]])


def move(folder: Path, at: Door, *options: str, code: int = 0) -> Result:
    """Copy a small and a large file there and back; what came back is the same."""
    haul = command(folder, at.service)
    (folder / "tree").mkdir()
    (folder / "tree" / "small").write_bytes(b"small")
    trees.random_file(folder / "tree" / "large", LARGE)
    haul("mb", "s3://box")
    went = haul("cp", "tree", "s3://box/in/", "--json", "--block-size", "5MiB", *options, code=code)
    if code == 0:
        haul("cp", "s3://box/in/", "back")
        assert trees.contents(folder / "back") == trees.contents(folder / "tree")
    return went


SLOW = refusal(503, "SlowDown", headers={"Retry-After": "0"})


@pytest.mark.parametrize(
    ("twist", "least"),
    [
        (first(2, SLOW, "PUT", without="partNumber"), 2),
        (first(2, SLOW, "PUT", "partNumber"), 2),
        (first(2, SLOW, "POST", "uploads"), 2),
        (first(2, SLOW, "POST", "uploadId"), 2),
        (first(2, SLOW, "GET", "list-type"), 2),
        (first(1, LATE_ERROR, "POST", "uploadId"), 1),
        (first(1, LATE_ERROR, "POST", "uploads"), 1),
        (first(1, refusal(500, "InternalError"), "PUT", "partNumber"), 1),
        (first(1, refusal(400, "RequestTimeout"), "PUT", "partNumber"), 1),
        (first(1, refusal(409, "OperationAborted"), "POST", "uploadId"), 1),
    ],
    ids=[
        "put",
        "part",
        "create",
        "complete",
        "list",
        "complete-200",
        "create-200",
        "part-500",
        "part-timeout",
        "complete-409",
    ],
)
def test_what_is_refused_for_now_is_asked_again(tmp_path: Path, twist: Twist, least: int) -> None:
    with door(twist) as at:
        summary = move(tmp_path, at).summary
    assert summary["exit_code"] == 0
    assert summary["retries"] >= least


def test_a_copy_that_ends_badly_after_it_began_well_is_made_again(tmp_path: Path) -> None:
    """CopyObject and UploadPartCopy answer 200 before they are done."""

    def copies(answer: Answer) -> Twist:
        left, lock = [2], threading.Lock()

        def twist(asked: Asked) -> Answer | None:
            if "x-amz-copy-source" not in asked.headers:
                return None
            with lock:
                left[0] -= 1
                return answer if left[0] >= 0 else None

        return twist

    with door(copies(LATE_ERROR)) as at:
        move(tmp_path, at)
        haul = command(tmp_path, at.service)
        haul("mb", "s3://other")
        went = haul("cp", "s3://box/in/", "s3://other/", "--json").summary
        assert (went["exit_code"], went["objects_by_service"]) == (0, 2)
        assert went["retries"] >= 1
        haul("cp", "s3://other/", "again")
        assert trees.contents(tmp_path / "again") == trees.contents(tmp_path / "tree")


def test_a_part_whose_upload_is_not_found_once_is_sent_again(tmp_path: Path) -> None:
    """Seen of versitygw under load: other parts of the same upload were taken."""
    with door(first(1, refusal(404, "NoSuchUpload"), "PUT", "partNumber")) as at:
        assert move(tmp_path, at).summary["exit_code"] == 0


def test_a_clock_that_is_wrong_is_said(tmp_path: Path) -> None:
    with door(lambda _: refusal(403, "RequestTimeTooSkewed")) as at:
        went = command(tmp_path, at.service)("ls", "s3://box/", code=3)
    assert "this machine's clock is wrong" in went.stderr
    assert "set this machine's clock" in went.stderr


def test_an_archived_object_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    def archived(asked: Asked) -> Answer | None:
        cold = asked.method == "GET" and asked.path.endswith("/small")
        more = "<StorageClass>GLACIER</StorageClass>"
        return refusal(403, "InvalidObjectState", more) if cold else None

    with door(archived) as at:
        (tmp_path / "tree").mkdir()
        (tmp_path / "tree" / "small").write_bytes(b"small")
        (tmp_path / "tree" / "other").write_bytes(b"other")
        haul = command(tmp_path, at.service)
        haul("mb", "s3://box")
        haul("cp", "tree", "s3://box/")
        went = haul("cp", "s3://box/", "back", code=1)
    assert "the object is archived, and cannot be read now" in went.stderr
    assert "restore it with the service's own tools" in went.stderr
    assert trees.contents(tmp_path / "back") == {"other": b"other"}


def test_encryption_that_needs_another_key_is_refused_by_its_name(tmp_path: Path) -> None:
    """What somebody has stored with a key of his own (SSE-C), or may not be decrypted with KMS."""
    cases = {
        "InvalidRequest": (400, "the object was stored with a key"),
        "AccessDenied": (403, "s3:GetObject"),
        "KMS.DisabledException": (400, "KMS.DisabledException"),
    }
    for code, (status, words) in cases.items():
        folder = tmp_path / code
        folder.mkdir()

        def locked(asked: Asked, status: int = status, code: str = code) -> Answer | None:
            read = asked.method == "GET" and asked.path.endswith("/locked")
            return refusal(status, code) if read else None

        with door(locked) as at:
            haul = command(folder, at.service)
            (folder / "locked").write_bytes(b"locked")
            haul("mb", "s3://box")
            haul("cp", "locked", "s3://box/")
            went = haul("cp", "s3://box/locked", "back", code=3 if status == 403 else 1)
        assert code in went.stderr or words in went.stderr, went.stderr


def test_etags_may_come_without_quotes_and_in_capitals(tmp_path: Path) -> None:
    """Some gateways give them plainly; in documents they may be escaped."""

    def plainly(_: Asked, answer: Answer) -> Answer:
        headers = {n: v.strip('"') if n.lower() == "etag" else v for n, v in answer.headers.items()}
        quoted = rb"<ETag>(?:&quot;|&#34;|\")*(.*?)(?:&quot;|&#34;|\")*</ETag>"
        body = re.sub(quoted, rb"<ETag>\1</ETag>", answer.body)
        return Answer(answer.status, headers, body)

    with door(change=plainly) as at:
        assert move(tmp_path, at).summary["exit_code"] == 0
        haul = command(tmp_path, at.service)
        again = haul("cp", "tree", "s3://box/in/", "--json").summary
        assert (again["objects_skipped"], again["bytes_done"]) == (2, 0)


def test_what_has_a_weak_etag_is_copied_and_not_deleted(tmp_path: Path, sentence: Sentence) -> None:
    """No condition names it, so nothing would spare a version that somebody writes meanwhile."""

    def weakened(_: Asked, answer: Answer) -> Answer:
        headers = {n: f"W/{v}" if n.lower() == "etag" else v for n, v in answer.headers.items()}
        return Answer(answer.status, headers, answer.body.replace(b"<ETag>", b"<ETag>W/"))

    with door(change=weakened) as at:
        move(tmp_path, at)
        haul = command(tmp_path, at.service)
        for source, destination in (("s3://box/in/small", "moved"), ("s3://box/in/", "all")):
            went = haul("mv", source, destination, "--json", code=1)
            assert {one["kind"] for event in went.events for one in event.get("failures", ())} == {
                "unsupported"
            }
            sentence(went.hints)
        gone = [asked.path for asked in at.seen if asked.method == "DELETE"]
        assert all(path.endswith(".witness") for path in gone), gone
        assert {"in/small", "in/large"} <= set(haul("ls", "-r", "s3://box/").text.split())


def test_a_list_whose_names_are_not_escaped_is_read_as_it_is(tmp_path: Path) -> None:
    """Not every service knows encoding-type=url; where it did not escape, `%41` stands for itself."""

    def ignored(asked: Asked) -> Answer | None:
        if asked.method != "GET" or "list-type" not in asked.query:
            return None
        entry = "<Contents><Key>a%41 b+c</Key><Size>5</Size><ETag>&quot;e&quot;</ETag></Contents>"
        text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{entry}</ListBucketResult>"
        return Answer(200, XML, text.encode())

    with door(ignored) as at:
        assert "a%41 b+c" in command(tmp_path, at.service)("ls", "s3://box/").text


def test_versions_and_delete_markers_are_left_alone(tmp_path: Path) -> None:
    """What an answer says of versions goes into no request: nothing but the object of today is touched."""

    def versioned(_: Asked, answer: Answer) -> Answer:
        return Answer(answer.status, answer.headers | {"x-amz-version-id": "v1"}, answer.body)

    with door(change=versioned) as at:
        move(tmp_path, at)
        haul = command(tmp_path, at.service)
        haul("rm", "s3://box/in/small")
        haul("rm", "--recursive", "s3://box/in/")
        assert not any("versionId" in asked.query for asked in at.seen)
        assert not any(b"<VersionId>" in asked.body for asked in at.seen)


def test_a_delete_marker_is_no_object(tmp_path: Path) -> None:
    def marker(asked: Asked) -> Answer | None:
        gone = asked.method in ("GET", "HEAD") and asked.path.endswith("/gone")
        return refusal(404, "NoSuchKey", headers={"x-amz-delete-marker": "true"}) if gone else None

    with door(marker) as at:
        haul = command(tmp_path, at.service)
        haul("mb", "s3://box")
        went = haul("stat", "s3://box/gone", code=4)
    assert "not found" in went.stderr or "no such object" in went.stderr


def test_the_requester_pays_for_every_request(tmp_path: Path) -> None:
    with door() as at:
        haul = command(tmp_path, at.service)
        haul("mb", "s3://box")
        (tmp_path / "small").write_bytes(b"small")
        trees.random_file(tmp_path / "large", LARGE)
        at.seen.clear()
        haul("cp", "small", "large", "s3://box/", "--requester-pays", "--block-size", "5MiB")
        haul("cp", "s3://box/", "back", "--requester-pays")
        haul("ls", "s3://box/", "--requester-pays")
        haul("rm", "s3://box/small", "--requester-pays")
        assert {asked.headers.get("x-amz-request-payer") for asked in at.seen} == {"requester"}


def test_nobody_signs_where_nobody_shall(tmp_path: Path) -> None:
    with door() as at:
        (tmp_path / "small").write_bytes(b"small")
        haul = command(tmp_path, at.service)
        haul("mb", "s3://box")
        haul("cp", "small", "s3://box/")
        at.seen.clear()
        went = haul("cp", "s3://box/small", "back", "--no-sign-request", code=3)
        assert at.seen
        assert not any({"authorization", "x-amz-date"} & asked.headers.keys() for asked in at.seen)
        assert "leave out --no-sign-request" in went.stderr


@pytest.mark.parametrize("size", [0, 1, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 10 * MIB, 10 * MIB + 1])
def test_sizes_at_the_bounds_of_parts(tmp_path: Path, size: int) -> None:
    with door() as at:
        haul = command(tmp_path, at.service)
        haul("mb", "s3://box")
        trees.random_file(tmp_path / "data", size)
        for options in ((), ("--block-size", "5MiB", "--method", "ranges")):
            at.seen.clear()
            haul("cp", "data", "s3://box/data", "--overwrite", "always", *options)
            parts = [int(asked.headers["content-length"]) for asked in at.seen if "partNumber" in asked.query]
            assert sum(parts) in (0, size)
            assert sorted(parts, reverse=True)[:-1] == [5 * MIB] * (len(parts) - 1) or not options
            haul("cp", "s3://box/data", "back", "--overwrite", "always", *options)
            assert (tmp_path / "back").read_bytes() == (tmp_path / "data").read_bytes()


def test_an_endpoint_may_lie_below_a_path(tmp_path: Path) -> None:
    """As that of Supabase does: /storage/v1/s3. The path is signed too."""
    with door(below="/storage/v1/s3") as at:
        assert move(tmp_path, at).summary["exit_code"] == 0
        assert all(asked.path.startswith("/storage/v1/s3/") for asked in at.seen)
        haul = command(tmp_path, at.service)
        assert "box" in haul("ls", "s3://").text
        haul("rm", "--recursive", "s3://box/in/")
        haul("rb", "s3://box")
