"""The sockets of one member: a thread that accepts, and one for each connection."""

import itertools
import socket
import ssl
import threading

from bson.errors import BSONError

from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.deployment import Deployment
from tests.support.mongodb.server.dispatch import reply_to
from tests.support.mongodb.server.errors import CommandError, ConnectionDroppedError
from tests.support.mongodb.server.members import Connection, Member
from tests.support.mongodb.server.wire import ProtocolError, read_request, response

_numbers = itertools.count(1)


def bound_socket(port: int = 0) -> socket.socket:
    """A loopback socket that does not listen yet, which reserves its port."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    return bound


class Listener:
    """Serves one member from `start` to `stop`; all threads have ended when `stop` returns. With
    `tls` it speaks only that."""

    def __init__(
        self,
        deployment: Deployment,
        member: Member,
        bound: socket.socket,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._deployment = deployment
        self._member = member
        self._socket = bound
        self._tls = tls
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept, name=f"accept {member.name}")
        self.failures: list[BaseException] = []

    def start(self) -> None:
        self._socket.listen(128)
        self._acceptor.start()

    def stop(self) -> None:
        # Closing alone would not wake the thread that accepts.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._socket.close()
        with self._deployment.changed:
            self._member.drop_connections()
            self._deployment.changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(accepted, next(_numbers))
            with self._deployment.changed:
                self._member.connections.add(connection)
            name = f"{self._member.name} connection {connection.number}"
            thread = threading.Thread(target=self._serve, args=(connection,), name=name)
            self._threads = [each for each in self._threads if each.is_alive()]
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            if self._tls is not None:
                connection.socket = self._tls.wrap_socket(
                    connection.socket, server_side=True, do_handshake_on_connect=False
                )
            with connection.socket:
                if isinstance(connection.socket, ssl.SSLSocket):
                    connection.socket.do_handshake()
                self._answer_all(connection)
        except OSError:
            # The client or the member closed.
            return
        except (ProtocolError, BSONError) as error:
            self.failures.append(error)
        finally:
            with self._deployment.changed:
                self._member.connections.discard(connection)

    def _answer_all(self, connection: Connection) -> None:
        for response_id in itertools.count(1):
            request = read_request(connection.socket)
            if request is None or connection.is_closed:
                return
            if not request.body:
                raise ProtocolError("a command without a name")
            context = Context(self._deployment, self._member, connection, request.body)
            try:
                body = reply_to(context)
            except ConnectionDroppedError:
                return
            except Exception as error:
                # A fault of this server: the client gets an answer, its owner the cause.
                self.failures.append(error)
                body = CommandError(1, f"{context.name} failed: {error!r}").reply()
            if request.is_answered:
                connection.socket.sendall(response(request, body, response_id))
