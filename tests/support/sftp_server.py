"""Serve a folder by SFTP: sftp_server.py PORT FOLDER USER PASSWORD. Run by ``.venv-clients``."""

import asyncio
import sys
from functools import partial

import asyncssh

PORT, FOLDER, USER, PASSWORD = sys.argv[1:]


class Login(asyncssh.SSHServer):  # type: ignore[misc]
    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)


async def serve() -> None:
    await asyncssh.listen(
        "127.0.0.1",
        int(PORT),
        server_factory=Login,
        server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
        sftp_factory=partial(asyncssh.SFTPServer, chroot=FOLDER.encode()),
    )
    await asyncio.Event().wait()


asyncio.run(serve())
