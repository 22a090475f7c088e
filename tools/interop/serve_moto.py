"""Serves moto on a free loopback port until standard input ends. Prints its address when it is ready."""

import os
import pathlib
import sys
import threading

# Read when moto is loaded. Without them it would take any image for granted, and hold hundreds of its own.
os.environ["MOTO_AMIS_PATH"] = str(pathlib.Path(__file__).with_name("moto-images.json"))
os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "true"
os.environ["MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"] = "true"

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app  # noqa: E402
from werkzeug.serving import make_server  # noqa: E402


class QuietHandler(MotoRequestHandler):
    """Keeps connections, as AWS does, and says nothing of each request."""

    protocol_version = "HTTP/1.1"

    def log_request(self, *_):
        pass


server = make_server(
    "127.0.0.1",
    0,
    DomainDispatcherApplication(create_backend_app),
    threaded=True,
    request_handler=QuietHandler,
)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
sys.stdin.read()
