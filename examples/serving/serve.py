"""The command uvicorn, whose workers answer without delay.

    SEARCH_FOLDER=data python serve.py app:app --workers 2

Where workers share a socket, uvicorn leaves it to the system to wait for more to send, and
each answer comes 40 ms late. :doc:`/user_guide/deploy` explains the service.
"""

import socket

import uvicorn

bind_socket = uvicorn.Config.bind_socket


def bind_without_delay(config):
    """Bind the socket, and let what is written to its connections be sent at once."""
    bound = bind_socket(config)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


if __name__ == "__main__":
    uvicorn.Config.bind_socket = bind_without_delay
    uvicorn.main()
