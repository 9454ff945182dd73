"""Connections that are bounded in time while a request comes in and while its answer is read, and in what is held of a
request's head.

uvicorn waits for a head for as long as it takes and keeps whatever comes of it; and it hands an answer over whole, so
that one that nobody reads would stay in memory for as long as its client likes.
"""

from asyncio import Transport
from typing import Any, Final

import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

log = structlog.get_logger()

#: Seconds from the opening of a connection, or the first byte of a further request, until its head is complete.
HEAD_SECONDS: Final = 10.0
#: Bytes of a head: the target and all header fields.
MAX_HEAD_BYTES: Final = 65_536
#: Seconds in which a client must take something of what waits to be sent to it.
UNREAD_SECONDS: Final = 30.0


class BoundedConnection(HttpToolsProtocol):
    """408 for a head that does not come in time, 431 for one that does not end; cut is who reads nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_bytes = 0
        #: Between requests, or within a head; not within a body.
        self._before_body = True
        self._timer: Any = None
        self._unread: Any = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._stop_unread()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        self._stop_unread()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._before_body:
            self._head_bytes += len(data)
            if self._timer is None:
                self._expect_head()
        super().data_received(data)
        # What is still before a body was all of a head: a body would have been seen to begin.
        if self._before_body and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(431)

    def on_headers_complete(self) -> None:
        self._stop()
        self._before_body = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._before_body = True
        self._head_bytes = 0
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self._stop()
        self._stop_unread()
        super().handle_websocket_upgrade()

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._refuse, 408)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expect_reading(self) -> None:
        self._stop_unread()
        self._unread = self.loop.call_later(UNREAD_SECONDS, self._look, self.transport.get_write_buffer_size())

    def _look(self, before: int) -> None:
        """Whoever took something may go on."""
        if self.transport.get_write_buffer_size() < before:
            self._expect_reading()
        else:
            self.transport.abort()

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _refuse(self, status: int) -> None:
        """Say why, unless an answer to an earlier request is on its way, and close."""
        self._stop()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            line = STATUS_LINE[status]
            self.transport.write(line + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()
