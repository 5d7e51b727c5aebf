"""Start uvicorn with workers that answer without delay.

    SEARCH_FOLDER=data python serve.py app:app --workers 2

If several workers share a socket, the operating system delays small answers by 40 ms
(Nagle's algorithm). This script turns the delay off. :doc:`/user_guide/deploy` explains the
service.
"""

import socket

import uvicorn

bind_socket = uvicorn.Config.bind_socket


def bind_without_delay(config):
    """Bind the socket, and send data on its connections immediately."""
    bound = bind_socket(config)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


if __name__ == "__main__":
    uvicorn.Config.bind_socket = bind_without_delay
    uvicorn.main()
