"""The probes of the sandbox: what is tried, and whose part of the sandbox has to stop it.

`hostile` has the code of those that run inside; `check` runs them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Part(Enum):
    """A part of the sandbox, with what a host can do where it does not hold."""

    NAMESPACES = "install bubblewrap, and let users make namespaces"
    FILTER = "use a kernel with CONFIG_SECCOMP_FILTER, and do not run the server under an emulator"
    LIMITS = "raise no limits of the machine for this: report it as a defect of getstep"
    FOLDER = "use a kernel with tmpfs"
    MEMORY = "start the server by `systemd-run --user --scope`, so that it has a cgroup"
    END = "start the server where it may signal its own programs"


class Run(Enum):
    TOGETHER = 1  # in one process with others
    ALONE = 2  # in a process of its own, which it may crash
    WATCHED = 3  # `check` measures from outside


@dataclass(frozen=True, slots=True)
class Probe:
    """One attempt to break out."""

    name: str
    protection: str
    tried: str
    part: Part
    run: Run = Run.TOGETHER


def _probes(protection: str, part: Part, run: Run = Run.TOGETHER, **tried: str) -> list[Probe]:
    return [Probe(name, protection, text, part, run) for name, text in tried.items()]


PROBES = [
    *_probes(
        "files of others",
        Part.NAMESPACES,
        read_teams_file="read the tokens of the teams",
        read_teams_file_by_link="read them through a symbolic link",
        read_teams_file_above="read them through ../..",
        read_teams_file_by_process="read them through /proc of the server",
        list_opponent="list the opponent's program",
        read_users="read /etc/passwd",
        list_homes="list the host's home folder",
        write_outside="write a file outside its folder",
        write_runtime="change the Python that runs it",
        write_root="write a file to /",
        write_shared_memory="write a file to /dev/shm",
        other_devices="see devices, disks and terminals",
        devices_of_the_kernel="see /sys",
        kernel_memory="read the kernel's memory, /proc/kcore",
        kernel_symbols="read the kernel's symbols, /proc/kallsyms",
        kernel_settings="change settings in /proc/sys",
        protect_from_memory_killer="protect itself from the killer of processes when memory runs out",
    ),
    *_probes("files of others", Part.FILTER, make_device="make a device"),
    *_probes(
        "its own files",
        Part.FOLDER,
        Run.ALONE,
        fill_folder="write more than its limit to its folder",
        fill_temporary_folder="write more than its limit to /tmp",
        too_many_files="make too many empty files",
    ),
    *_probes(
        "its own files",
        Part.LIMITS,
        Run.ALONE,
        file_with_holes="make a file of 10 GB that takes no room",
        many_descriptors="open too many files at once",
    ),
    *_probes(
        "child processes",
        Part.FILTER,
        fork="fork",
        start_program="start a program by subprocess",
        spawn_program="start a program by posix_spawn",
        clone_process="make a process by the system call clone",
        clone_process_by_clone3="make a process by the system call clone3",
    ),
    *_probes("child processes", Part.FILTER, Run.ALONE, become_another_program="become another program by exec"),
    *_probes("child processes", Part.LIMITS, Run.ALONE, too_many_threads="start too many threads"),
    *_probes(
        "child processes",
        Part.END,
        Run.WATCHED,
        fork_bomb="fork as often as it can, and outlive the end",
        escape_by_daemon="leave a daemon behind",
    ),
    *_probes(
        "other processes",
        Part.NAMESPACES,
        see_processes="see other processes in /proc",
        signal_a_process="send the server a signal",
        signal_all_processes="send all processes a signal",
        read_environment_of_a_process="read the server's environment",
    ),
    *_probes(
        "other processes",
        Part.FILTER,
        open_a_process="open the server's process by pidfd_open",
        read_memory_of_a_process="read the server's memory by process_vm_readv",
        trace="use ptrace",
    ),
    *_probes(
        "processor",
        Part.FILTER,
        leave_the_core="use more than its one processor",
        raise_priority="raise its priority",
        populate="fill memory in the kernel, where nothing suspends it",
        collapse="copy memory in the kernel, where nothing suspends it",
        real_time_priority="ask for real-time priority",
        continue_itself="send itself SIGCONT, which continues it when it is suspended",
        timer_with_sigcont="make a timer that continues it when it is suspended",
        pipe_with_sigcont="make a pipe that continues it when it is suspended",
    ),
    *_probes(
        "processor",
        Part.END,
        Run.WATCHED,
        compute_while_suspended="compute in four threads while it is suspended",
        continue_while_suspended="send itself SIGCONT from nine threads while it is suspended",
        compute_in_the_kernel="be in a long call of the kernel when it is suspended",
    ),
    *_probes("processor", Part.LIMITS, Run.ALONE, processor_time="compute for longer than its limit"),
    *_probes(
        "processor", Part.LIMITS, reserve_addresses="reserve addresses, which the kernel takes seconds to change"
    ),
    *_probes(
        "memory",
        Part.MEMORY,
        Run.ALONE,
        memory="use twice its memory",
        shared_memory="use twice its memory, as memory shared with nobody",
        memory_of_stacks="use twice its memory for stacks of threads",
        memory_in_files="use memory and files together as memory",
    ),
    *_probes(
        "memory",
        Part.FILTER,
        anonymous_files="make files in memory by memfd_create",
        system_v_memory="make System V shared memory",
        message_queues="make System V message queues",
        locks_of_files="lock parts of a file, which is memory of the kernel that no limit counts",
        watches_of_files="watch files by inotify, of which a user of the machine may have few",
    ),
    *_probes(
        "the other program",
        Part.FILTER,
        locks_of_shared_files="send it a message by locks of a file that both may read",
        leases_of_shared_files="send it a message by leases of such a file",
        hints_of_shared_files="send it a message by hints about the use of such a file",
    ),
    *_probes(
        "the other program",
        Part.NAMESPACES,
        times_of_shared_devices="send it a message by the times of /dev/null",
    ),
    *_probes(
        "network",
        Part.FILTER,
        connect_to_the_server="connect to a port of this machine",
        send_a_datagram="send a datagram",
        listen="listen on a port",
        ipv6="make a socket of IPv6",
        connect_to_a_socket_file="connect to a socket file",
        connect_to_an_abstract_socket="connect to an abstract Unix socket",
        netlink="make a netlink socket",
        crypto_sockets="make a socket of the kernel's cryptography (AF_ALG)",
        virtual_machine_sockets="make a socket to the virtual machine's host (vsock)",
        packets="read the packets of the network",
        other_sockets="give one of its socket pairs a name",
    ),
    *_probes(
        "the kernel",
        Part.FILTER,
        become_root="become root",
        keyrings="use the kernel's keyrings",
        mount="mount a file system",
        change_root="change its root folder",
        user_namespace="make a namespace in which it is root",
        bpf="load a BPF map",
        performance_events="count performance events",
        page_faults="handle its page faults (userfaultfd)",
        asynchronous_io="use io_uring",
        set_clock="set the clock",
        host_name="change the name of the machine",
        kernel_log="read the kernel's log",
    ),
    *_probes(
        "the kernel",
        Part.NAMESPACES,
        gain_rights_by_exec="gain rights from a set-uid program",
        capabilities="have capabilities of the kernel",
    ),
    *_probes(
        "the kernel",
        Part.FILTER,
        Run.ALONE,
        calls_of_32_bits="make a system call of 32 bits",
        calls_of_x32="make a system call of x32",
    ),
    *_probes(
        "its end",
        Part.END,
        Run.WATCHED,
        ignore_all_signals="ignore all signals at its end",
        stop_itself="stop itself before its end",
        flood="write more than the host reads, without an end",
        server_killed="live on after the server was killed",
    ),
    *_probes("its end", Part.FILTER, live_on_after_the_server="switch off that it dies with the server"),
]
"""In the order of the table."""
