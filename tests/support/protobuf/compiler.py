"""Protobuf schemas, compiled by the real `protoc` from Maven Central."""

import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from tests.support.servers.maven import artifact

VERSION = "4.34.0"
_CLASSIFIERS = {"x86_64": "linux-x86_64", "aarch64": "linux-aarch_64"}


@cache
def protoc() -> Path:
    """The compiler, as a program."""
    classifier = _CLASSIFIERS[platform.machine()]
    found = artifact(f"com.google.protobuf:protoc:{VERSION}:exe:{classifier}")
    program = Path(tempfile.mkdtemp(prefix="protoc-")) / "protoc"
    # The cached file is not executable.
    shutil.copyfile(found, program)
    program.chmod(0o755)
    return program


def compile_all(schemas: Sequence[str]) -> list[descriptor_pb2.FileDescriptorProto]:
    """Descriptors of independent files. Raises AssertionError with the compiler's words."""
    found = []
    with tempfile.TemporaryDirectory(prefix="proto-") as folder:
        for number, schema in enumerate(schemas):
            (Path(folder) / f"s{number}.proto").write_text(schema, encoding="utf-8")
            # One at a time: files of two versions declare the same names.
            command = [
                str(protoc()),
                f"--proto_path={folder}",
                f"--descriptor_set_out={folder}/out",
                f"s{number}.proto",
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{done.stderr}\n{schema}"
            assert not done.stderr, f"{done.stderr}\n{schema}"
            data = (Path(folder) / "out").read_bytes()
            found.append(descriptor_pb2.FileDescriptorSet.FromString(data).file[0])
    return found


@cache
def message_class(schema: str) -> type[Message]:
    """The class of the first message of a schema."""
    (file,) = compile_all([schema])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName(f"{file.package}.{file.message_type[0].name}")
    found: type[Message] = message_factory.GetMessageClass(descriptor)
    return found
