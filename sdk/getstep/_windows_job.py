"""Job objects of Windows: processes that end together. This module can be imported on Windows only."""

from __future__ import annotations

import ctypes
import sys
from typing import ClassVar

assert sys.platform == "win32"  # noqa: S101 - tells mypy where this module is imported

from ctypes import wintypes  # noqa: E402 - after the check of the system

_EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
_KILL_ON_CLOSE = 0x2000  # JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
_SET_QUOTA_AND_TERMINATE = 0x0100 | 0x0001  # the rights to a process that adding it to a job takes

_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.CreateJobObjectW.restype = wintypes.HANDLE
_kernel.OpenProcess.restype = wintypes.HANDLE
_kernel.AssignProcessToJobObject.argtypes = [wintypes.HANDLE, wintypes.HANDLE]
_kernel.TerminateJobObject.argtypes = [wintypes.HANDLE, wintypes.UINT]
_kernel.SetInformationJobObject.argtypes = [wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD]
_kernel.CloseHandle.argtypes = [wintypes.HANDLE]


class _BasicLimits(ctypes.Structure):
    _fields_: ClassVar = [
        ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
        ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    ]


class _Limits(ctypes.Structure):
    _fields_: ClassVar = [
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_ulonglong * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    ]


class Job:
    """A process and all that it starts from now on. They also end with this process, which has the only handle.

    A system that refuses the job leaves the process as it is.

    Args:
        pid: of a process that was not waited for yet.
    """

    def __init__(self, pid: int) -> None:
        limits = _Limits()
        limits.BasicLimitInformation.LimitFlags = _KILL_ON_CLOSE
        self._handle = _kernel.CreateJobObjectW(None, None)
        _kernel.SetInformationJobObject(self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits))
        process = _kernel.OpenProcess(_SET_QUOTA_AND_TERMINATE, False, pid)
        _kernel.AssignProcessToJobObject(self._handle, process)
        _kernel.CloseHandle(process)

    def terminate(self) -> None:
        """End all its processes. After the first call it does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _kernel.TerminateJobObject(handle, 1)
            _kernel.CloseHandle(handle)
