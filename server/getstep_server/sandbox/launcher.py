"""The first process in the sandbox: it applies what bubblewrap cannot, and becomes the program.

It is run as source text (``python -I -S -c``), by the interpreter that runs the server, and imports only modules in
C: its start takes 10 ms. Until it gives up its rights, it has those that bubblewrap left it: mounting in its own
namespace and, if the server is root, changing the user.

Theory of operation: it has a socket to the parent, and waits there twice.

1. It gets its settings, mounts the folder and sends a descriptor of it. The parent fills the folder and moves the
   process to its cgroup.
2. It gives up its rights and arms the signal that it gets when bubblewrap dies, as it does when the parent dies. If
   the parent died before that, the socket has ended, and the launcher ends. Otherwise it becomes the program.

An error is one line of text on the socket; success is its end, at `execve`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # importing `signal` takes 3 ms
import _socket
import ctypes
import marshal
import os
import resource
import sys

TYPE_CHECKING = False  # importing `typing` takes 5 ms
if TYPE_CHECKING:
    from typing import Any

READY = b"ready"

# Numbers of Linux, here and below: this file runs alone, with the standard library's smallest part.
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 8, 32, 4096
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP = 1, 22, 38, 24
_SIGKILL = 9
_SCM_RIGHTS = 1
_LAST_CAPABILITY = 63  # the kernel keeps them in 64 bits, and refuses those that it does not have
_SECCOMP_MODE_FILTER = 2
_PROT_READ, _PROT_WRITE, _MAP_PRIVATE_FIXED = 1, 2, 0x100022  # MAP_FIXED_NOREPLACE | MAP_ANONYMOUS | MAP_PRIVATE
_PAGE = 1 << 16  # the largest size of a page that Linux has on these architectures
_ENOENT = 2
_CAPABILITY_VERSION = 0x20080522

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Prepare the sandbox from inside, and become the program."""
    parent = _socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(parent.fileno(), False)
    stage = "the sandbox cannot mount its folder"
    try:
        settings: dict[str, Any] = marshal.loads(_receive(parent))  # noqa: S302 - the server's process wrote it
        _mount(settings)
        folder = os.open(settings["home"], os.O_RDONLY | os.O_DIRECTORY)
        parent.sendmsg([READY], [(_socket.SOL_SOCKET, _SCM_RIGHTS, folder.to_bytes(4, sys.byteorder))])
        os.close(folder)
        _receive(parent)
        stage = "the sandbox cannot set its limits"
        _limit(settings)
        stage = "the sandbox cannot give up its rights"
        _drop_rights(settings)
        parent.send(READY)
        _receive(parent)
        stage = f"{settings['argv'][0]} cannot be started"
        _execute(settings)
    except OSError as error:
        parent.send(f"{stage}: {error.strerror or error}".encode())
    except Exception as error:  # the server waits for an answer, whatever has failed here
        parent.send(f"{stage}: {error!r}".encode())
    os._exit(1)


def _receive(parent: Any) -> bytes:
    return _exactly(parent, int.from_bytes(_exactly(parent, 4), "little"))  # length first: a stream has no messages


def _exactly(parent: Any, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = parent.recv(size - len(data))
        if not part:  # the parent has died
            os._exit(1)
        data += part
    return data


def _mount(settings: dict[str, Any]) -> None:
    """Mount the only file system that the program can write to: in memory, bounded, gone with the namespace."""
    # Only the program's own processes, and nothing of the kernel. Linux before 5.8 cannot.
    libc.mount(
        b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | _MS_REMOUNT, b"hidepid=2,subset=pid"
    )
    # A device on a read-only mount can be written to, but its times, which all programs see, cannot be set.
    # bubblewrap's own --remount-ro would refuse to open it.
    for name in settings["devices"]:
        device = f"/dev/{name}"
        flags = _MS_BIND | _MS_REMOUNT | _MS_RDONLY | os.statvfs(device).f_flag & (_MS_NOSUID | _MS_NOEXEC)
        _check(libc.mount(None, device.encode(), None, flags, None))
    at = settings["home"]
    options = f"size={settings['file_bytes']},nr_inodes={settings['files']},mode=755"
    _check(libc.mount(b"sandbox", at.encode(), b"tmpfs", _MS_NOSUID | _MS_NODEV, options.encode()))
    uid = settings["uid"]
    for name in ("tmp", "program"):  # the last one stays the current folder
        os.mkdir(f"{at}/{name}", 0o700)  # noqa: PTH102 - importing `pathlib` takes 10 ms
        os.chdir(f"{at}/{name}")
        if uid is not None:
            os.chown(".", uid, uid)


def _limit(settings: dict[str, Any]) -> None:
    for name, value in settings["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]  # of the server: it cannot be raised here
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    if settings["core"] is not None:
        os.sched_setaffinity(0, {settings["core"]})


def _drop_rights(settings: dict[str, Any]) -> None:
    for capability in range(_LAST_CAPABILITY + 1):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):  # EINVAL: this kernel has no more of them
            break
    uid = settings["uid"]
    if uid is not None:  # in this order: without the user root, the groups cannot be changed any more
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _check(libc.capset(header, (ctypes.c_uint32 * 6)()))  # all zero: no capability in any of the three sets
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    # Changing the user has cleared it.
    _check(libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0))


def _execute(settings: dict[str, Any]) -> None:
    """Become the program. The filter lets only this call of `execve` through: its name is at the right address."""
    words = [word.encode() for word in settings["argv"]]
    variables = [f"{name}={value}".encode() for name, value in settings["environment"].items()]
    argv = (ctypes.c_char_p * (len(words) + 1))(*words)
    environment = (ctypes.c_char_p * (len(variables) + 1))(*variables)
    file = _find(settings["argv"][0], settings["environment"]["PATH"]).encode()
    name = _put(file + b"\0", settings["name_address"])
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores them, and the program would inherit that
        _signal.signal(number, _signal.SIG_DFL)
    code = settings["filter"]
    if code:  # last, because it refuses calls of the steps above
        program = _Program(len(code) // 8, ctypes.cast(ctypes.c_char_p(code), ctypes.c_void_p))
        _check(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0))
    _check(libc.execve(name, argv, environment))


class _Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _find(name: str, path: str) -> str:
    if "/" in name:
        return name
    for folder in path.split(":"):
        if os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name}"
    raise FileNotFoundError(_ENOENT, os.strerror(_ENOENT))


def _put(text: bytes, address: int) -> ctypes.c_void_p:
    page = address & -_PAGE
    libc.mmap.restype = ctypes.c_void_p
    size = ctypes.c_size_t(address - page + len(text))
    at = libc.mmap(ctypes.c_void_p(page), size, _PROT_READ | _PROT_WRITE, _MAP_PRIVATE_FIXED, -1, ctypes.c_long(0))
    if at != page:
        raise OSError(ctypes.get_errno(), "no memory at the chosen address")
    ctypes.memmove(address, text, len(text))
    return ctypes.c_void_p(address)


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
