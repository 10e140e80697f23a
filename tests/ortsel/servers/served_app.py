"""A service of one model, as a WSGI and as an ASGI application: floats in, floats out."""

import os
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np

runtime = import_module(os.environ["SERVED_RUNTIME"])
SESSION = runtime.InferenceSession(os.environ["SERVED_MODEL"])
WIDTH = SESSION.get_inputs()[0].shape[1]


def answer(body: bytes) -> bytes:
    rows = np.frombuffer(body, np.float32).reshape(-1, WIDTH)
    outputs = SESSION.run(None, {"x": rows})
    return bytes(outputs[0].tobytes())


def headers() -> list[tuple[str, str]]:
    return [("x-worker", str(os.getpid())), ("x-session", type(SESSION).__module__)]


def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    body = answer(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    start_response("200 OK", [("content-type", "application/octet-stream"), *headers()])
    return [body]


async def asgi(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    if scope["type"] == "lifespan":
        while (event := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{event['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    body, more = b"", True
    while more:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    named = [(name.encode(), value.encode()) for name, value in headers()]
    content = answer(body)
    await send({"type": "http.response.start", "status": 200, "headers": named})
    await send({"type": "http.response.body", "body": content})
