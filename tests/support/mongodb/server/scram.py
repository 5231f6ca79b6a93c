"""SCRAM-SHA-256 (RFC 7677) on the server's side."""

import base64
import hashlib
import hmac
import os
from dataclasses import dataclass, field

from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.users import User

# Drivers refuse fewer.
_ITERATIONS = 4096


@dataclass
class Conversation:
    """One authentication. `user` None is a name that is unknown: told only at the end."""

    user: User | None
    salt: bytes = field(default_factory=lambda: os.urandom(16))
    nonce: str = ""
    signed: str = ""

    def first(self, message: str) -> bytes:
        """The answer to the client's first message."""
        bare = message.split(",", 2)[2]
        fields = _fields(bare)
        self.nonce = fields["r"] + base64.b64encode(os.urandom(24)).decode()
        salt = base64.b64encode(self.salt).decode()
        answer = f"r={self.nonce},s={salt},i={_ITERATIONS}"
        self.signed = f"{bare},{answer}"
        return answer.encode()

    def final(self, message: str) -> bytes:
        """The answer to the proof. Raises 18 for a wrong one."""
        fields = _fields(message)
        if self.user is None or fields["r"] != self.nonce:
            raise failed()
        password = self.user.password.encode()
        salted = hashlib.pbkdf2_hmac("sha256", password, self.salt, _ITERATIONS)
        client_key = _hmac(salted, b"Client Key")
        signed = f"{self.signed},{message.rpartition(',p=')[0]}".encode()
        signature = _hmac(hashlib.sha256(client_key).digest(), signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        if not hmac.compare_digest(base64.b64encode(proof).decode(), fields["p"]):
            raise failed()
        server_signature = _hmac(_hmac(salted, b"Server Key"), signed)
        return b"v=" + base64.b64encode(server_signature)


def user_name(message: str) -> str:
    """The name in the client's first message."""
    name = _fields(message.split(",", 2)[2])["n"]
    return name.replace("=2C", ",").replace("=3D", "=")


def failed() -> CommandError:
    return CommandError(18, "Authentication failed.")


def _fields(message: str) -> dict[str, str]:
    try:
        return dict(part.split("=", 1) for part in message.split(","))
    except ValueError as error:
        raise failed() from error


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, "sha256").digest()
