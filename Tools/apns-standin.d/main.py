"""The command line of the stand-in."""
import argparse
import asyncio
import json
import os
import re
import ssl
import sys

import certificates
import connection
import service
import tokens

ABOUT = """Stands in for Apple's push service (APNs) on this machine: HTTP/2 over TLS with
certificates of its own, as strict as Apple's, and as bad as it is told to be.

It writes into DIRECTORY: ca.pem (trust it), server.pem and server.key, client.pem and client.key (a
provider's certificate), key.p8 (a provider's signing key), control and bus (sockets). When it is
ready it prints one line of JSON with the ports, and runs until SIGTERM, SIGINT, or the end of its
input (--stdin).

control  takes a JSON object a line and answers with one: {"do": "help"} lists the commands
bus      is where phones listen: {"register": HEX, "topic": …, "environment": …}, then a line a
         push; they answer {"report": "participant" | "leave" | "call" | "update", "id": …} at
         once, or are punished as Apple does
"""


def arguments():
    parser = argparse.ArgumentParser(
        prog="apns-standin", description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", metavar="DIRECTORY", help="made when it is not there")
    parser.add_argument("--sandbox", type=int, default=0, metavar="PORT", help="0: any free one")
    parser.add_argument("--production", type=int, default=0, metavar="PORT", help="0: any free one")
    parser.add_argument("--address", default="127.0.0.1", help="to listen on (127.0.0.1)")
    parser.add_argument("--bundle", default="org.talkaround.app", help="the app's bundle id")
    parser.add_argument("--team", default="TEAM123456", help="ten letters and digits")
    parser.add_argument("--key-id", default="KEY1234567", help="ten letters and digits")
    parser.add_argument("--stdin", action="store_true", help="end when standard input ends")
    options = parser.parse_args()
    for name in ("team", "key_id"):
        if not re.fullmatch(r"[A-Z0-9]{10}", getattr(options, name)):
            parser.error(f"--{name.replace('_', '-')} must be ten capital letters and digits")
    return options


async def listen(options):
    loop = asyncio.get_running_loop()
    directory = os.path.abspath(options.directory)
    public_key = certificates.make(directory)
    the = service.Service(
        options.bundle, tokens.Verifier(public_key, options.team, options.key_id)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(
        os.path.join(directory, "server.pem"), os.path.join(directory, "server.key")
    )
    context.load_verify_locations(os.path.join(directory, "ca.pem"))
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["h2"])
    ports = {}
    for environment in ("sandbox", "production"):
        server = await loop.create_server(
            lambda environment=environment: connection.Connection(the, environment),
            options.address, getattr(options, environment), ssl=context,
            reuse_address=True, backlog=64,
        )
        ports[environment] = server.sockets[0].getsockname()[1]
    paths = {name: os.path.join(directory, name) for name in ("control", "bus")}
    for name, serve in (("control", the.control), ("bus", the.devices.serve)):
        if os.path.exists(paths[name]):
            os.unlink(paths[name])
        await asyncio.start_unix_server(serve, paths[name], limit=2**24)
    print(json.dumps({**ports, **paths, "directory": directory}), flush=True)
    await end(options, loop)


async def end(options, loop):
    stop = asyncio.Event()
    for number in (2, 15):
        loop.add_signal_handler(number, stop.set)
    if options.stdin:
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

        async def drain():
            while await reader.read(4096):
                pass
            stop.set()

        task = loop.create_task(drain())
        task.add_done_callback(lambda _: None)
    await stop.wait()


def main():
    options = arguments()
    try:
        os.makedirs(options.directory, exist_ok=True)
        asyncio.run(listen(options))
    except PermissionError as error:
        print(f"apns-standin: {error}: choose a directory that you may write", file=sys.stderr)
        return 77
    except OSError as error:
        print(f"apns-standin: cannot listen or write: {error}", file=sys.stderr)
        return 69
    return 0
