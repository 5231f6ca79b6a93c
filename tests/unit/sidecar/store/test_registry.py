import pytest

from sidecar.store.base import RemoteDirectory
from sidecar.store.registry import STORES, parse_remote_directory, store_kind


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gs://bucket/prefix", "gs://bucket/prefix"),
        ("gcs://bucket-name/prefix-name", "gs://bucket-name/prefix-name"),
        ("gs://bucket", "gs://bucket"),
        ("gs://bucket/", "gs://bucket"),
        ("gs://bucket/a/b/", "gs://bucket/a/b"),
        ("s3://bucket/prefix/", "s3://bucket/prefix"),
        ("s3a://bucket", "s3://bucket"),
        ("s3://Old_Bucket", "s3://Old_Bucket"),
    ],
)
def test_remote_directory_is_parsed_in_several_forms(text: str, shown: str) -> None:
    assert str(parse_remote_directory(text)) == shown


@pytest.mark.parametrize(
    ("texts", "example"),
    [
        (["", "bucket/prefix", "ftp://b/p", "gs://", "gs:///x", "gs://B"], "gs://bucket/prefix"),
        (["file:///a"], "gs://bucket/prefix"),
        (["s3://", "s3:///x", "s3://ab", "s3://-bucket", "s3://a b/c"], "s3://bucket/prefix"),
    ],
)
def test_invalid_remote_directory_is_rejected(texts: list[str], example: str) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=example):
            parse_remote_directory(text)


def test_object_names_include_the_prefix() -> None:
    directory = RemoteDirectory("b", "p", "s3").inside("node", "archive")
    assert directory.object_name("f") == "p/node/archive/f"
    assert RemoteDirectory("b", "").object_name("f") == "f"


def test_store_kind_is_found_by_scheme() -> None:
    for kind in STORES.values():
        for scheme in kind.schemes:
            directory = parse_remote_directory(f"{scheme}://bucket/prefix")
            assert store_kind(directory) is kind
            assert str(directory) == kind.example
